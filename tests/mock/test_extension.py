"""`--extend`: a file of the user's adds routes, fields and checks, and is read again when it is saved."""

from __future__ import annotations

import re
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client, TestResponse
from wire import HARBOUR

from mock_server import MockServer
from mock_server.control import Control
from mock_server.errors import SettingsError
from mock_server.settings.settings import Deployment, Settings

KEY = {"Authorization": "Bearer demo-key-harbour"}
PAGE = (Path(__file__).parents[2] / "docs" / "extending.md").read_text("utf-8")
ROUTE, FIELD, CHECK = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


class Extended:
    """A mock with an extension."""

    def __init__(self, folder: Path, text: str, **settings: Any) -> None:
        self.file = folder / "mine.py"
        self.file.write_text(text)
        self.server = MockServer(extend=self.file, **settings)

    def ask(self, method: str, path: str, **more: Any) -> TestResponse:
        """The answer to a request with a key."""
        headers = KEY | more.pop("headers", {})
        return Client(self.server.running).open(path, method=method, headers=headers, **more)


def test_a_route_is_added_and_knows_the_account(tmp_path: Path) -> None:
    mock = Extended(tmp_path, ROUTE)
    assert mock.ask("GET", "/api/me").get_json() == {"data": {"company": "Harbour Books"}}
    refused = mock.ask("GET", "/api/me", headers={"Authorization": "Bearer of-nobody"})
    assert refused.status_code == 401
    assert mock.server.running.journal.find(path="/api/me", status="200")
    assert mock.ask("GET", "/api/domains/").status_code == 200


def test_answers_and_conditions_are_forced_at_a_route_of_ones_own(tmp_path: Path) -> None:
    mock = Extended(tmp_path, ROUTE)
    mock.server.running.force({"path": "/api/me", "status": 503, "times": 1})
    mock.server.running.force({"path": "/api/me", "condition": "too-many=2"})
    assert [mock.ask("GET", "/api/me").status_code for _ in range(4)] == [503, 429, 200, 429]


def test_a_route_reads_records_as_clients_do(tmp_path: Path) -> None:
    mock = Extended(
        tmp_path,
        """\
from flask import request
def extend(app):
    @app.get("/api/hosts")
    def hosts():
        key = {"Authorization": request.headers["Authorization"]}
        listed = app.test_client().get("/api/domains/", headers=key).get_json()
        return [each["host"] for each in listed["data"]]
""",
    )
    listed = mock.ask("GET", "/api/domains/").get_json()["data"]
    mock.server.running.force({"path": "/api/domains/", "status": 503, "times": 1})
    assert mock.ask("GET", "/api/hosts").get_json() == [each["host"] for each in listed]
    assert mock.ask("GET", "/api/domains/").status_code == 503  # not used up by the route's own read
    assert [entry.path for entry in mock.server.running.journal.find()] == [
        "/api/domains/",
        "/api/hosts",
        "/api/domains/",
    ]


def test_a_field_is_added_to_reads_and_lists(tmp_path: Path) -> None:
    mock = Extended(tmp_path, FIELD)
    listed = mock.ask("GET", "/api/domains/").get_json()["data"]
    assert [each["owner"] for each in listed] == [f"owner-{each['id'] % 3}@example.com" for each in listed]
    for _ in range(2):  # the second time, much is known
        read = mock.ask("GET", f"/api/domains/{listed[0]['id']}")
        assert read.get_json()["data"] == listed[0]
        assert int(read.headers["Content-Length"]) == len(read.data)


def test_a_check_refuses_as_the_mock_does(tmp_path: Path) -> None:
    mock = Extended(tmp_path, CHECK)
    refused = mock.ask("POST", "/api/domains", data={"host": "go.example.com"})
    assert (refused.status_code, refused.get_json()["errors"][0]["title"]) == (
        400,
        "Send an X-Request-Id with each write.",
    )
    assert len(mock.server.running.journal.remark_counts) == 1
    (tmp_path / "meant").mkdir()
    meant = Extended(tmp_path / "meant", CHECK.replace('each write.")', 'each write.", mistake=False)'))
    assert meant.ask("POST", "/api/domains", data={"host": "go.example.com"}).status_code == 400
    assert not meant.server.running.journal.remark_counts
    made = mock.ask("POST", "/api/domains", data={"host": "go.example.com"}, headers={"X-Request-Id": "1"})
    assert made.status_code == 201


def test_sessions_teardowns_and_changed_answers_work_as_in_any_flask_application(tmp_path: Path) -> None:
    mock = Extended(
        tmp_path,
        """\
from flask import session
def extend(app):
    app.secret_key = "not secret"
    app.ended = []
    app.teardown_request(lambda error: app.ended.append(error))
    @app.get("/api/visits")
    def visits():
        session["visits"] = session.get("visits", 0) + 1
        return str(session["visits"])
    @app.after_request
    def teapot(response):
        if response.status_code == 404:
            response.set_data(b"{}")
            response.status_code = 418
        return response
""",
    )
    client = Client(mock.server.running)
    assert [client.get("/api/visits", headers=KEY).text for _ in range(2)] == ["1", "2"]
    answer = client.get("/api/domains/99999", headers=KEY)
    assert (answer.status_code, answer.data, answer.headers["Content-Length"]) == (418, b"{}", "2")
    assert mock.server.app.ended == [None, None, None]  # type: ignore[attr-defined]


def test_it_is_read_again_with_all_records_kept_and_a_mistake_changes_nothing(tmp_path: Path) -> None:
    mock = Extended(tmp_path, ROUTE)
    made = mock.ask("POST", "/api/domains", data={"host": "kept.example.com"}).get_json()["data"]["id"]
    mock.file.write_text(ROUTE.replace("/api/me", "/api/myself"))
    mock.server.running.change_switches()
    assert [mock.ask("GET", path).status_code for path in ("/api/me", "/api/myself")] == [404, 200]
    running = mock.server.running
    running.fixtures.keep("one")
    mock.file.write_text("def extend(app):\n    pass\n    app.no_such_thing()\n")
    for reread in (running.change_switches, running.reset, partial(running.restore, "one")):
        with pytest.raises(SettingsError, match=r"mine\.py, line 3: AttributeError: .*no_such_thing"):
            reread()
    assert [mock.ask("GET", path).status_code for path in ("/api/myself", f"/api/domains/{made}")] == [200, 200]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def extend(app:\n", "mine.py, line 1: SyntaxError: '(' was never closed"),
        ("import json\n\n1 / 0\n", "mine.py, line 3: ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)\n", "mine.py, line 1: SystemExit: 3"),
        ("class Odd(Exception):\n    def __str__(self):\n        exit(5)\nraise Odd\n", "mine.py, line 4: Odd: "),
        ("raise KeyboardInterrupt\n", "mine.py, line 1: KeyboardInterrupt: "),
        ("import asyncio\nraise asyncio.CancelledError\n", "mine.py, line 2: CancelledError: "),
        ("async def extend(app):\n    pass\n", "mine.py has no function `extend(app)`; define one, without async"),
        ("def extend(app):\n    yield\n", "mine.py has no function `extend(app)`; define one, without async and yield"),
        ("async def extend(app):\n    yield\n", "mine.py has no function `extend(app)`; define one, without async"),
        ("from json import loads\ndef extend(app):\n    loads('{')\n", "mine.py, line 3: JSONDecodeError: "),
        ("def extends(app):\n    pass\n", "mine.py has no function `extend(app)`; define one"),
        ("def extend():\n    pass\n", "mine.py: TypeError: extend() takes 0 positional arguments"),
        ("\0", "mine.py"),
    ],
)
def test_a_mistake_is_told_with_its_line(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(SettingsError, match=re.escape(told)):
        Extended(tmp_path, text)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"missing\.py cannot be read: No such file or directory"):
        MockServer(extend=tmp_path / "missing.py")


def test_dataclasses_with_annotations_as_texts_work(tmp_path: Path) -> None:
    lines = ["from __future__ import annotations", "from dataclasses import dataclass", "@dataclass", "class Plan:"]
    mock = Extended(tmp_path, "\n".join([*lines, "    name: str", "def extend(app):", "    app.plan = Plan('small')"]))
    assert mock.server.app.plan.name == "small"  # type: ignore[attr-defined]


def test_a_hook_that_fails_is_answered_and_logged_with_its_line(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mock = Extended(
        tmp_path, f"def extend(app):\n    @app.before_request\n    def fail():\n        raise KeyError('{HARBOUR}')\n"
    )
    assert mock.ask("GET", f"/api/{HARBOUR}").status_code == 500
    assert 'mine.py", line 4' in caplog.text
    assert HARBOUR not in caplog.text


@pytest.mark.parametrize(
    "lines",
    [
        ["@app.after_request", "def forget(answer):", "    answer.headers['X-A'] = 'b'"],
        ["@app.before_request", "def leave():", "    raise SystemExit"],
        ["@app.before_request", "def leave():", "    raise SystemExit('\\udc80')"],
        [
            "@app.after_request",
            "def break_off(answer):",
            "    answer.response = ('x' if number else 1 / 0 for number in (1, 0))",
            "    return answer",
        ],
        ["@app.after_request", "def mistype(answer):", "    answer.status_code = 99", "    return answer"],
        ["@app.after_request", "def mistype(answer):", "    answer.status_code = 1000", "    return answer"],
        ["@app.after_request", "def mistype(answer):", "    answer.headers['X Y'] = 'b'", "    return answer"],
        ["@app.after_request", "def mistype(answer):", "    answer.headers['X'] = 'b\\0c'", "    return answer"],
        ["@app.after_request", "def mistype(answer):", "    answer.headers['X'] = '\u20ac'", "    return answer"],
        ["@app.after_request", "def a(b):", "    b.headers['Transfer-Encoding'] = 'chunked'", "    return b"],
        ["@app.after_request", "def a(b):", "    b.headers['Content-Length'] = '3'", "    return b"],
        ["@app.after_request", "def a(b):", "    b.headers.add('Content-Length', '3')", "    return b"],
        ["@app.after_request", "def a(b):", "    b.headers['Content-Length'] = 'abc'", "    return b"],
    ],
    ids=[
        "no answer",
        "an exit",
        "an exit that no encoding knows",
        "a body that breaks",
        "a status of two digits",
        "a status of four digits",
        "a space in the name of a header",
        "a control character in a header",
        "a letter beyond Latin-1 in a header",
        "chunks",
        "the length of another body",
        "two lengths",
        "a length that is none",
    ],
)
def test_what_flask_itself_fails_on_is_answered_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, lines: list[str]
) -> None:
    mock = Extended(tmp_path, "def extend(app):\n" + "\n".join(f"    {line}" for line in lines))
    answer = mock.ask("GET", f"/api/domains/{HARBOUR}", headers={"Origin": "http://localhost:5173"})
    assert (answer.status_code, answer.mimetype) == (500, "application/json")
    assert answer.headers["Access-Control-Allow-Origin"]
    assert "an extension failed on GET /api/domains/[key]" in caplog.text
    assert HARBOUR not in caplog.text
    assert [entry.status for entry in mock.server.running.journal.find()] == [500]


def test_a_hook_that_returns_nothing_is_told_apart_and_is_no_mistake_of_the_client(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    mock = Extended(tmp_path, "def extend(app):\n    app.after_request(lambda response: None)\n")
    assert mock.ask("GET", "/api/domains/1").status_code == 500
    assert f"None of these lines is in {mock.file}: perhaps one of its hooks returned None" in caplog.text
    view = Extended(tmp_path, "def extend(app):\n    app.get('/api/nothing')(lambda: None)\n")
    assert view.ask("GET", "/api/nothing").status_code == 500
    assert [entry.remarks for entry in view.server.running.journal.find()] == [[]]


def test_no_route_of_ones_own_passes_for_an_operation(tmp_path: Path) -> None:
    text = "def extend(app):\n    app.add_url_rule('/api/v2/domains', 'domains', lambda: 'mine')\n"
    mock = Extended(tmp_path, text, defects=("byte-order-mark",), conditions={"rate-limit": 1})
    assert [mock.ask("GET", "/api/v2/domains").data for _ in range(3)] == [b"mine"] * 3


def test_hooks_do_not_run_in_the_console_and_the_control_plane(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("def extend(app):\n    app.before_request(lambda: ('by a hook', 418))\n")
    client = Client(Control(Settings(extend=file)))
    for path, status in (("/api/domains/", 418), ("/_mock/state", 200), ("/", 200)):
        with client.get(path, environ_base={"REMOTE_ADDR": "127.0.0.1"}) as answer:
            assert answer.status_code == status, path


@pytest.mark.usefixtures("store")
def test_a_saved_extension_is_served_whatever_holds_the_records(tmp_path: Path) -> None:
    mock = Extended(tmp_path, "def extend(app):\n    app.add_url_rule('/one', view_func=lambda: 'first')\n")
    assert mock.ask("GET", "/one").text == "first"
    mock.file.write_text("def extend(app):\n    app.add_url_rule('/one', view_func=lambda: 'second')\n")
    mock.server.running.change_switches()
    assert mock.ask("GET", "/one").text == "second"


@pytest.mark.parametrize(("point", "chosen"), [("unknown-id", "200-null"), ("media-type", "html")])
def test_the_example_of_a_field_stands_other_choices(tmp_path: Path, point: str, chosen: str) -> None:
    mock = Extended(tmp_path, FIELD, choices={point: chosen})
    assert mock.ask("GET", "/api/domains/999999").status_code in (200, 404)
    assert b"owner-1@example.com" in mock.ask("GET", "/api/domains/1").data


def test_a_write_whose_body_does_not_come_reaches_no_route(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mock_server.http.messages.SECONDS_FOR_A_BODY", 0.3)
    (tmp_path / "mine.py").write_text("def extend(app):\n    app.post('/api/done')(lambda: 'done')\n", "utf-8")
    with MockServer(extend=tmp_path / "mine.py") as server:
        connection = HTTPConnection("127.0.0.1", int(server.base_url.rpartition(":")[2]))
        connection.putrequest("POST", "/api/done")
        connection.putheader("Content-Length", "50")
        connection.endheaders()
        assert connection.getresponse().status == 408
        connection.close()


def test_a_forced_lag_works_while_the_file_has_a_mistake(tmp_path: Path) -> None:
    mock = Extended(tmp_path, ROUTE)
    mock.file.write_text("def extend(app:\n")
    mock.server.running.force({"condition": "lag=0.3", "times": None})
    assert mock.ask("GET", "/api/me").status_code == 200


def test_it_does_not_go_with_a_deployment(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="extend does not apply"):
        Settings(extend=tmp_path / "mine.py", deployment=Deployment(url="http://127.0.0.1:9"))
