from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from conformance import DOCUMENT
from jsonschema import Draft202012Validator
from openapi_spec_validator import validate
from shell import installed

ROOT = Path(__file__).parents[2]
METHODS = ("get", "post", "put", "patch", "delete")
READ_TYPES = """
import type { components } from "./types";
type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
type Plain<T> = { [K in keyof T]: T[K] };
type Schemas = components["schemas"];
const required: Schemas["SplashPageCreate"] = { name: "a", title: "b" };
export { required };
"""
TYPES = {"string": "string", "integer": "number", "boolean": "boolean", "object": "{ [key: string]: unknown }"}
TYPES |= {"null": "null"}


def operations() -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, item in DOCUMENT["paths"].items():
        for method in METHODS:
            if method in item:
                yield method.upper(), path, item[method]


def resolved(node: dict[str, Any]) -> Any:
    while "$ref" in node:
        found: Any = DOCUMENT
        for step in node["$ref"].removeprefix("#/").split("/"):
            found = found[step]
        node = found
    return node


def test_the_document_is_valid_openapi() -> None:
    validate(DOCUMENT)
    assert DOCUMENT["openapi"].startswith("3.1.")
    assert DOCUMENT["servers"][0]["variables"].keys() == {"base_url"}


def test_the_operations_are_the_documented_fifteen() -> None:
    assert {(method, path) for method, path, _ in operations()} == {
        ("GET", "/api/splash-pages/"),
        ("GET", "/api/splash-pages/{splash_page_id}"),
        ("POST", "/api/projects"),
        ("POST", "/api/splash-pages/{splash_page_id}"),
        ("DELETE", "/api/splash-pages/{splash_page_id}"),
        ("GET", "/api/domains/"),
        ("GET", "/api/domains/{domain_id}"),
        ("POST", "/api/domains"),
        ("POST", "/api/domains/{domain_id}"),
        ("DELETE", "/api/domains/{domain_id}"),
        ("GET", "/api/notification-handlers/"),
        ("GET", "/api/notification-handlers/{notification_handler_id}"),
        ("POST", "/api/notification-handlers"),
        ("POST", "/api/notification-handlers/{notification_handler_id}"),
        ("DELETE", "/api/notification-handlers/{notification_handler_id}"),
    }


def test_statuses_are_open() -> None:
    for _, _, operation in operations():
        assert list(operation["responses"]) == ["2XX", "4XX", "5XX", "default"]


def test_every_create_links_to_what_can_be_done_with_the_record() -> None:
    for method, path, operation in operations():
        if method == "POST" and "{" not in path:
            assert resolved(operation["responses"]["2XX"])["links"].keys() == {"read", "update", "delete"}


def test_every_body_has_an_example_that_keeps_its_schema() -> None:
    for method, path, operation in operations():
        bodies = [resolved(response) for response in operation["responses"].values()]
        for body in [operation.get("requestBody", {}), *bodies]:
            for content in body.get("content", {}).values():
                examples = content.get(
                    "examples", {"only": {"value": content["example"]} if "example" in content else {}}
                )
                validator = Draft202012Validator({**content["schema"], "components": DOCUMENT["components"]})
                for name, example in examples.items():
                    wrong = [each.message for each in validator.iter_errors(resolved(example)["value"])]
                    assert wrong == [], f"openapi.yaml: correct the example {name} of {method} {path}"


def typescript(schema: dict[str, Any]) -> str:
    """The type that a value has in TypeScript."""
    schema = resolved(schema)
    if "enum" in schema:
        return " | ".join(f'"{value}"' for value in schema["enum"])
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return " | ".join(TYPES[each] for each in types)


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("npm") and not os.environ.get("CI"), reason="Node is not installed")
def test_generated_types_name_every_read_field_with_its_type(tmp_path: Path) -> None:
    installed("node_modules/.ready")
    tools = ROOT / "node_modules" / ".bin"
    subprocess.run([tools / "openapi-typescript", "openapi.yaml", "-o", tmp_path / "types.ts"], cwd=ROOT, check=True)
    checks = [
        f"export const read{name}_{field}: Same<Schemas['{name}']['{field}'], {typescript(schema)}> = true;"
        for name in ("SplashPage", "Domain", "NotificationHandler")
        for field, schema in DOCUMENT["components"]["schemas"][name]["properties"].items()
    ]
    assert len(checks) > 15
    (tmp_path / "check.ts").write_text("\n".join([READ_TYPES, *checks]))
    checked = subprocess.run(
        [tools / "tsc", "--noEmit", "--strict", "check.ts"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert checked.stdout == ""


def test_it_keeps_to_what_all_tools_read() -> None:
    schemas = DOCUMENT["components"]["schemas"]
    assert schemas["FormBoolean"]["enum"] == ["0", "1"]
    assert schemas["PageSize"]["enum"] == [10, 25, 50, 100, 250, 500, 1000]
    assert "description" not in DOCUMENT["servers"][0]["variables"]["base_url"]
    assert True not in schemas["Domain"]["not"]["properties"].values()
    for name in ("SplashPageCreate", "DomainCreate", "NotificationHandlerCreate"):
        base, more = schemas[name]["allOf"]
        assert (set(base), set(more)) == ({"$ref"}, {"required"})
