from __future__ import annotations

import logging

import pytest
from wire import Answer, Client, in_process

from mock_server import Settings, create_app
from mock_server.control.instance import Instance
from mock_server.store.collection import MemoryCollection


@pytest.fixture
def client() -> Client:
    return Client(in_process(create_app()))


def error(answer: Answer) -> dict[str, object]:
    (entry,) = answer.json["errors"]
    assert answer.status == entry["status"]
    return dict(entry)


@pytest.mark.parametrize(
    "path", ["/", "/api/", "/api", "/api/links/", "/api//domains/", "/favicon.ico", "/api/domains/1/x"]
)
def test_an_unknown_path_is_told_in_the_envelope(client: Client, path: str) -> None:
    entry = error(client.get(path))
    assert entry == {"title": f'There is nothing at "{path}"; the API is under /api/.', "status": 404}


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("PUT", "/api/domains/1", "DELETE, GET, HEAD, OPTIONS, POST"),
        ("PATCH", "/api/splash-pages/1", "DELETE, GET, HEAD, OPTIONS, POST"),
        ("DELETE", "/api/domains/", "GET, HEAD, OPTIONS, POST"),
        ("GET", "/api/projects", "OPTIONS, POST"),
    ],
)
def test_a_wrong_method_is_told_with_those_that_are_right(client: Client, method: str, path: str, allow: str) -> None:
    answer = client.request(method, path)
    assert error(answer)["title"] == f"{method} is not for this path; try {allow}."
    assert (answer.status, answer.headers["Allow"]) == (405, allow)


def test_a_splash_page_created_at_the_wrong_path_is_told_the_right_one(client: Client) -> None:
    for path in ("/api/splash-pages", "/api/splash-pages/"):
        answer = client.post(path, {"name": "a"})
        assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD, OPTIONS")
        assert "or POST /api/projects to create a splash page" in str(error(answer)["title"])


@pytest.mark.parametrize("identifier", ["999999", "0", "-1", "x", "1.0", "1" * 5000, "%00", "٣", "1%20"])
def test_an_id_that_is_no_records_is_unknown(client: Client, identifier: str) -> None:
    path = f"/api/notification-handlers/{identifier}"
    for answer in (client.get(path), client.post(path, {"name": "a"}), client.delete(path)):
        assert error(answer)["status"] == 404


def test_an_unknown_type_is_refused_with_the_known_ones(client: Client) -> None:
    entry = error(client.post("/api/notification-handlers", {"name": "a", "type": "pigeon"}))
    assert entry["rule"] == "representations.type-is-one-of-six"
    assert "email, webhook, slack, discord, telegram, microsoft_teams" in str(entry["title"])


def test_a_failure_of_the_server_is_told_in_the_envelope_and_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("the store broke")

    monkeypatch.setattr(MemoryCollection, "page", fail)
    answer = Client(in_process(create_app())).get("/api/domains/")
    assert error(answer)["status"] == 500
    assert "the store broke" not in answer.body.decode()
    assert "the store broke" in caplog.text


def test_each_request_is_a_line_in_the_log_with_the_fields_that_had_no_influence(
    caplog: pytest.LogCaptureFixture,
) -> None:
    client = Client(in_process(Instance(Settings(journal=0)).app))
    caplog.set_level(logging.INFO, "mock_server")
    client.post("/api/projects?a=1", {"name": "a", "colour": "red", "shade": "dark"})
    assert caplog.messages[-1].startswith("POST /api/projects?a=1 201 ")
    assert caplog.messages[-1].endswith("  ignored: colour, shade")


def test_the_log_names_the_account_and_marks_what_was_forced_or_lost_and_hides_preflights(
    caplog: pytest.LogCaptureFixture,
) -> None:
    running = Instance(Settings(cors_origins=("*",)))
    client = Client(in_process(running))
    caplog.set_level(logging.INFO, "mock_server")
    running.force({"status": 503, "times": 1})
    client.get("/api/domains/1")
    client.request("GET", "/api/domains/1", headers={"Prefer": "lost=after"})
    preflight = {"Origin": "http://localhost:5173", "Access-Control-Request-Method": "POST"}
    client.request("OPTIONS", "/api/domains", headers=preflight)
    endings = [message.partition(" ms  ")[2] for message in caplog.messages]
    assert endings == ["Harbour Books  forced: status=503", "Harbour Books  dropped"]
    caplog.set_level(logging.DEBUG, "mock_server")
    client.request("OPTIONS", "/api/domains", headers=preflight)
    assert caplog.messages[-1].startswith("OPTIONS /api/domains 204 ")


def test_a_line_in_the_log_is_one_line_whatever_was_asked(caplog: pytest.LogCaptureFixture) -> None:
    client = Client(in_process(Instance(Settings()).app))
    caplog.set_level(logging.INFO, "mock_server")
    client.get("/api/x%0A09:00:00%20GET%20/fake%1b%5B31m")
    client.post("/api/projects", {"name": "a", "sha\nde": "x"})
    assert caplog.messages[0].startswith("GET /api/x%0A09:00:00%20GET%20/fake%1B%5B31m 404 ")
    assert "\n" not in "".join(caplog.messages)


def test_a_head_request_has_the_headers_of_a_read_alone(client: Client) -> None:
    answer = client.request("HEAD", "/api/domains/1")
    assert (answer.status, answer.body) == (200, b"")


def test_refusals_of_pages_name_the_parameter() -> None:
    send = in_process(create_app(Settings(choices={"odd-page": "400", "size-not-allowed": "422"})))
    assert error(Client(send).get("/api/domains/?page=0"))["field"] == "page"
    entry = error(Client(send).get("/api/domains/?results_per_page=7"))
    assert (entry["field"], entry["rule"]) == ("results_per_page", "pagination.other-sizes-are-not-used")
