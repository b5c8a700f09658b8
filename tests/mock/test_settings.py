from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from wire import PNG, Client, in_process, over_network

from mock_server import MockServer, Settings, SettingsError, create_app
from mock_server.http.gateway import Gateway
from mock_server.server import _GranianThread, listen


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"base_path": "prefix"}, 'invalid path prefix "prefix": expected something like /prefix'),
        ({"base_path": "/prefix/"}, "invalid path prefix"),
        ({"public_base_url": "https://links.example.com/"}, "without a slash at the end"),
        ({"public_base_url": "links.example.com"}, "invalid base URL"),
        ({"api_keys": ("sandbox-1",)}, '"sandbox-1" cannot be a key'),
        ({"api_keys": ("two words",)}, "cannot be a key; give visible ASCII characters"),
        ({"api_keys": "abc"}, "give a tuple of keys"),
        ({"api_keys": ("a", "a")}, "give a tuple of keys, each once"),
        ({"api_keys": ("demo-key-harbour",)}, "is the fixture's already"),
        ({"records": -1}, "records is -1; give 0 or more"),
        ({"sandboxes": 0}, "sandboxes is 0; give 1 or more"),
        ({"contract": Path("nowhere.yaml")}, 'contract "nowhere.yaml" cannot be read'),
    ],
)
def test_a_setting_that_cannot_be_meant_is_refused_by_its_name(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as refused:
        create_app(Settings(**settings))
    assert message in str(refused.value)


@pytest.mark.parametrize("host", ["a@b:1", "a:99999999"])
def test_links_hold_the_servers_address_where_a_request_names_no_usable_host(host: str) -> None:
    with MockServer() as server:
        send = over_network(server.base_url)
        links = Client(send).request("GET", "/api/domains/", headers={"Host": host}).json["links"]
    assert links["first"] == f"{server.base_url}/api/domains?page=1"


def test_the_content_of_files_is_kept_and_a_refused_form_costs_none_of_it() -> None:
    app = create_app(Settings(fixture="empty"))
    client = Client(in_process(app))
    identifier = client.create("/api/projects", {"name": "a", "logo": ("logo.png", PNG, "image/png")})
    service = app.extensions["mock_server"]
    for _ in range(6):
        form = {"logo": ("large.png", b"x" * 15_000_000, "image/png")}
        assert client.post("/api/projects", form).status == 400
    record = service.accounts.get("demo-key-harbour").collections["splash-pages"].get(identifier)
    logo = record.values["logo"]
    assert (logo.name, logo.media_type, logo.size) == ("logo.png", "image/png", len(PNG))
    assert service.forms.uploads.content(logo) == PNG
    for _ in range(5):
        client.create("/api/projects", form | {"name": "b"})
    assert service.forms.uploads.content(logo) is None


def test_put_and_patch_update_records_and_nothing_else_where_that_is_chosen() -> None:
    client = Client(in_process(create_app(Settings(choices={"put-and-patch": "update"}))))
    assert client.request("PATCH", "/api/domains/1", {"custom_index_url": "https://a.example.com"}).status == 200
    assert client.request("PUT", "/api/domains", {"host": "put.example.com"}).status == 405
    assert "PATCH" in client.request("TRACE", "/api/domains/1").headers["Allow"]


def test_hosts_that_only_fold_alike_are_two_hosts() -> None:
    client = Client(in_process(create_app()))
    client.create("/api/domains", {"host": "straße.example.com"})
    client.create("/api/domains", {"host": "strasse.example.com"})


def test_a_normalised_url_keeps_its_user_and_password() -> None:
    client = Client(in_process(create_app(Settings(choices={"url-form": "normalised"}))))
    client.post("/api/domains/1", {"custom_index_url": "HTTPS://User:PassWord@Example.com"})
    shown = client.get("/api/domains/1").json["data"]["custom_index_url"]
    assert shown == "https://User:PassWord@example.com/"


def test_a_list_is_redirected_for_head_too_and_one_slash_more_is_all_that_is_overlooked() -> None:
    client = Client(in_process(create_app(Settings(choices={"list-redirect": "307"}))))
    assert client.request("HEAD", "/api/domains/?page=2").headers["Location"] == "/api/domains?page=2"
    assert client.get("/api/domains///").status == 404


def test_a_choice_with_which_a_defect_does_not_show_is_told() -> None:
    settings = Settings(defects=("create-takes-a-zero",), choices={"open.handler-starts": "disabled"})
    with pytest.raises(SettingsError, match='"create-takes-a-zero" does not show with handler-starts=disabled'):
        create_app(settings)


def test_a_process_that_joins_does_not_make_the_others_wait_in_accept(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[bool] = []
    begin = _GranianThread.start

    def start(worker: _GranianThread, gateway: Gateway) -> None:
        waits.append(os.get_blocking(listener.fileno()))
        begin(worker, gateway)

    monkeypatch.setattr(_GranianThread, "start", start)
    with closing(listen("127.0.0.1", 0)) as listener:
        os.set_blocking(listener.fileno(), False)  # as the event loops of the other processes did
        with MockServer(listener=listener):
            assert waits == [False]
