"""The rendering of the contract for generators of clients."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
import yaml
from openapi_schema_validator import OAS30Validator
from openapi_spec_validator import validate
from wire import Client

from link_management_contract import shipped_contract
from mock_server.store.fixture_format import beginning, fixture_schema


def values(node: Any) -> Iterator[tuple[str, Any]]:
    """Every key of a document with its value."""
    for key, value in node.items() if isinstance(node, dict) else ((str(n), each) for n, each in enumerate(node)):
        yield key, value
        if isinstance(value, (dict, list)):
            yield from values(value)


def parts(document: Any, schema: Any) -> Iterator[Any]:
    """A schema, and those of all that it consists of."""
    schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]] if "$ref" in schema else schema
    yield schema
    for part in (*schema.get("properties", {}).values(), *([schema["items"]] if "items" in schema else [])):
        yield from parts(document, part)


@pytest.fixture
def rendering(client: Client) -> Any:
    return yaml.safe_load(client.get("/openapi.client.yaml").body)


def test_it_is_valid_and_has_nothing_that_generators_stumble_over(rendering: Any) -> None:
    validate(rendering)
    keys = {key for key, _ in values(rendering)}
    assert not keys & {"not", "allOf", "2XX", "4XX", "5XX", "variables", "contentMediaType"}
    assert not [key for key in keys if key.startswith("x-")]
    assert not [value for key, value in values(rendering) if key == "type" and isinstance(value, list)]


def test_it_has_each_operation_with_plain_statuses_and_errors_as_json(rendering: Any, client: Client) -> None:
    operations = {
        operation["operationId"]: operation for path in rendering["paths"].values() for operation in path.values()
    }
    assert len(operations) == 15
    for name, operation in operations.items():
        first = {"c": ["200", "201"], "d": ["200", "204"]}.get(name[0], ["200"])
        assert list(operation["responses"]) == [*first, "default"]
        assert "application/json" in operation["responses"]["default"]["content"]
    assert rendering["servers"] == [{"url": client.get("/openapi.json").json["servers"][0]["url"]}]


def test_answers_have_valid_examples_for_each_property_and_no_patterns(rendering: Any) -> None:
    answers = [
        value["application/json"]
        for key, value in values(rendering)
        if key == "content" and "application/json" in value
    ]
    assert len(answers) == 30
    for answer in answers:
        for part in parts(rendering, answer["schema"]):
            assert "pattern" not in part
            OAS30Validator({**part, "components": rendering["components"]}).validate(part["example"])
        assert next(parts(rendering, answer["schema"]))["example"].keys() == answer["example"].keys()
    assert rendering["components"]["schemas"]["Host"]["pattern"] == r"\S"


@pytest.mark.parametrize("name", ["openapi.yaml", "openapi.json", "openapi.client.yaml"])
def test_page_links_in_examples_begin_with_the_base_url(name: str, client: Client) -> None:
    text = client.get(f"/{name}").body.decode()
    url = client.get("/openapi.json").json["servers"][0]["url"]
    assert f"{url}/api/domains?page=1" in text
    assert set(re.findall(r"http://127\.0\.0\.1:\d+", text)) == {url}


def test_forms_are_flat_and_files_are_binary(rendering: Any) -> None:
    schemas = rendering["components"]["schemas"]
    assert schemas["SplashPageCreate"]["required"] == ["name"]
    assert schemas["NotificationHandlerCreate"]["required"] == ["name", "type"]
    assert set(schemas["SplashPageCreate"]["properties"]) == set(schemas["SplashPageUpdate"]["properties"])
    assert schemas["FormFile"]["format"] == "binary"
    assert schemas["LastDatetime"]["nullable"] is True


def test_the_schema_of_fixtures_takes_what_the_mock_takes() -> None:
    schema = fixture_schema(shipped_contract().resources.values())
    jsonschema.Draft202012Validator.check_schema(schema)
    check = jsonschema.Draft202012Validator(schema)
    for name in ("demo", "empty"):
        text = shipped_contract().path.with_name("fixtures").joinpath(f"{name}.yaml").read_text("utf-8")
        check.validate(yaml.safe_load(text))
    check.validate(yaml.safe_load(beginning("mine.yaml", "mine.schema.json")))
    for wrong in ({"hots": "a.example.com"}, {"host": 7}, {"host": "a.example.com", "id": 0}):
        document = {"accounts": [{"api_key": "a", "records": {"domains": [wrong]}}]}
        assert not check.is_valid(document)
