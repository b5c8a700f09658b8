from __future__ import annotations

from pathlib import Path

import pytest
from wire import Client, in_process

from mock_server import Settings, create_app

OPENAPI = Path(__file__).parents[2] / "openapi.yaml"


@pytest.mark.parametrize(
    ("field", "value", "stored"),
    [("{type: string}", "written", "written"), ("{type: integer}", "7", 7)],
    ids=["text", "integer"],
)
def test_a_field_added_to_a_form_in_the_contract_is_served(
    tmp_path: Path, field: str, value: str, stored: object
) -> None:
    contract = tmp_path / "openapi.yaml"
    known = "        title: {type: string, examples: ['One moment, please']}\n"
    text = OPENAPI.read_text("utf-8")
    assert text.count(known) == 1
    contract.write_text(text.replace(known, f"{known}        slogan: {field}\n"), "utf-8")
    app = create_app(Settings(contract=contract, choices={"splash-page-fields": "shown"}))
    client = Client(in_process(app))
    identifier = client.create("/api/projects", {"name": "a", "slogan": value})
    assert client.get(f"/api/splash-pages/{identifier}").json["data"]["slogan"] == stored
    client.post("/api/splash-pages/1", {"slogan": value})
    assert client.get("/api/splash-pages/1").json["data"]["slogan"] == stored


@pytest.mark.parametrize(
    ("read_schema", "form_schema", "values"),
    [
        ("{type: string}", "{type: string}", ("", "a", "a")),
        ("{type: integer}", "{type: integer}", (0, "7", 7)),
        ("{type: boolean}", "{$ref: '#/components/schemas/FormBoolean'}", (False, "1", True)),
    ],
    ids=["text", "integer", "boolean"],
)
def test_a_field_that_is_in_the_read_shape_and_a_form_is_shown(
    tmp_path: Path, read_schema: str, form_schema: str, values: tuple[object, str, object]
) -> None:
    contract = tmp_path / "openapi.yaml"
    text = OPENAPI.read_text("utf-8")
    text = text.replace(
        "        host: {type: string}\n", f"        host: {{type: string}}\n        note: {read_schema}\n"
    )
    text = text.replace(
        "        custom_not_found_url: {type: string, examples: ['https://www.example.com/not-found']}\n",
        f"        custom_not_found_url: {{type: string}}\n        note: {form_schema}\n",
    )
    contract.write_text(text, "utf-8")
    client = Client(in_process(create_app(Settings(contract=contract))))
    before, value, after = values
    created = client.create("/api/domains", {"host": "new.example.com"})
    for identifier in (1, created):
        assert client.get(f"/api/domains/{identifier}").json["data"]["note"] == before
        client.post(f"/api/domains/{identifier}", {"note": value})
        assert client.get(f"/api/domains/{identifier}").json["data"]["note"] == after
