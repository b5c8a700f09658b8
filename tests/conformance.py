"""What openapi.yaml says of an answer, checked with a JSON Schema validator."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator
from walk import Resource
from wire import Answer

DOCUMENT: dict[str, Any] = yaml.safe_load(Path(__file__).parents[1].joinpath("openapi.yaml").read_text("utf-8"))
SIZES = {10, 25, 50, 100, 250, 500, 1000}


def check(resource: Resource, operation: str, answer: Answer) -> None:
    """Hold a success against its schema and, for a list, the rules on one page."""
    assert 200 <= answer.status < 300, (operation, answer)
    if operation == "delete":
        return
    errors = [error.message for error in validator(resource.name, operation).iter_errors(answer.json)]
    assert errors == [], (operation, answer)
    records = answer.json["data"] if operation == "list" else [answer.json["data"]]
    for record in records:
        if record.get("type") == "email":
            assert list(record["settings"]) == ["email"]
    if operation == "list":
        check_page(resource, answer.json)


def check_page(resource: Resource, page: dict[str, Any]) -> None:
    meta, links = page["meta"], page["links"]
    number, size, total = meta["page"], meta["results_per_page"], meta["total"]
    pages = -(-total // size)
    assert meta["total_pages"] in ({0, 1} if total == 0 else {pages})
    assert len(page["data"]) == max(0, min(size, total - (number - 1) * size))
    collection = {"splash-pages": "projects"}.get(resource.name, resource.name)
    for name, there in {"first": 1, "last": pages, "self": number}.items():
        assert f"/api/{collection}?" in links[name]
        assert links[name].endswith(f"page={there}") or total == 0
    for name, there in {"next": number + 1, "prev": number - 1}.items():
        exists = 1 <= there <= pages
        assert links[name].endswith(f"page={there}") if exists else links[name] is None


@cache
def validator(tag: str, operation: str) -> Draft202012Validator:
    """A validator of the body of an operation's success."""
    found = next(
        item
        for path in DOCUMENT["paths"].values()
        for item in path.values()
        if isinstance(item, dict) and tag in item["tags"] and item["operationId"].startswith(operation)
    )
    response = DOCUMENT["components"]["responses"][found["responses"]["2XX"]["$ref"].rpartition("/")[2]]
    schema = response["content"]["application/json"]["schema"]
    return Draft202012Validator({**schema, "components": DOCUMENT["components"]})
