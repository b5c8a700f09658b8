from __future__ import annotations

import pytest
from werkzeug.datastructures import Headers
from werkzeug.test import Client, EnvironBuilder, TestResponse
from werkzeug.wrappers import Response
from wire import HARBOUR

from mock_server import Settings, create_app
from mock_server.effects.effect import preferences_of
from mock_server.http.context import context_of

KEY = {"Authorization": f"Bearer {HARBOUR}"}


def preferring(prefer: str) -> TestResponse:
    return Client(create_app(Settings())).get("/api/domains/", headers=KEY | {"Prefer": prefer})


@pytest.mark.parametrize("code", [400, 401, 404, 409, 429, 500, 503])
def test_a_request_is_answered_with_the_status_that_it_prefers(code: int) -> None:
    answer = preferring(f"code={code}")
    assert (answer.status_code, answer.headers["Preference-Applied"]) == (code, f"code={code}")
    assert answer.json == {"errors": [{"title": "You asked for this answer with a Prefer header.", "status": code}]}
    assert ("X-RateLimit-Reset" in answer.headers) == (code == 429)
    assert "Retry-After" not in answer.headers


def test_a_refused_write_is_not_carried_out() -> None:
    client = Client(create_app(Settings(fixture="empty")))
    form = {"host": "a.example.com"}
    assert client.post("/api/domains", headers=KEY | {"Prefer": "code=503"}, data=form).status_code == 503
    assert client.get("/api/domains/", headers=KEY).json["meta"]["total"] == 0  # type: ignore[index]


def test_an_answer_is_delayed_as_long_as_the_request_prefers() -> None:
    delays = []
    for key in (KEY, {"Authorization": "Bearer unknown"}, {}):
        headers = Headers(key | {"Prefer": 'delay="1.5"; x=y, respond-async'})
        environ = EnvironBuilder("/api/domains/", headers=headers).get_environ()
        notes = context_of(environ)
        delays.append((Response.from_app(create_app(Settings()), environ).status_code, notes.delay))
    assert delays == [(200, 1.5), (401, 0), (401, 0)]


@pytest.mark.parametrize(
    "defects",
    [["pages-overlap"] * 2, ["pages-overlap", "meta-total-is-text", "link-self-is-null", "next-is-null"]],
    ids=["one twice", "four"],
)
def test_a_request_has_three_defects_at_most_and_each_once(defects: list[str]) -> None:
    answer = preferring(", ".join(f"defect={name}" for name in defects))
    assert answer.status_code == 400
    assert answer.json["errors"][0]["title"] == "Prefer: give 3 defects at most, each once."  # type: ignore[index]


@pytest.mark.parametrize("preference", ["defect=meta-total-is-text", "respond-async"])
def test_too_many_preferences_are_a_clear_refusal(preference: str) -> None:
    answer = preferring(", ".join([preference] * 2000))
    assert answer.status_code == 400
    assert answer.json["errors"][0]["title"] == "Prefer: 2000 preferences are too many; give 20 at most."  # type: ignore[index]


def test_one_request_alone_is_answered_wrongly() -> None:
    client = Client(create_app(Settings()))
    wrong = client.get("/api/domains/", headers=KEY | {"Prefer": "defect=meta-total-is-text, defect=link-self-is-null"})
    right = client.get("/api/domains/", headers=KEY)
    assert wrong.headers["Preference-Applied"] == "defect=meta-total-is-text, defect=link-self-is-null"
    assert (wrong.json["meta"]["total"], wrong.json["links"]["self"]) == ("54", None)  # type: ignore[index]
    assert right.json["meta"]["total"] == 54  # type: ignore[index]
    assert "Preference-Applied" not in right.headers


@pytest.mark.parametrize(
    ("prefer", "title"),
    [
        ("code=200", 'Prefer: code is "200"; give a status from 400 to 599.'),
        ("code=teapot", 'Prefer: code is "teapot"; give a status from 400 to 599.'),
        ("delay=-1", 'Prefer: delay is "-1"; give seconds from 0 to 60, or a range such as 0.2-1.5.'),
        ("delay=2-1", 'Prefer: delay is "2-1"; give seconds from 0 to 60, or a range such as 0.2-1.5.'),
        ("delay=nan", 'Prefer: delay is "nan"; give seconds from 0 to 60, or a range such as 0.2-1.5.'),
        ("delay", 'Prefer: delay is ""; give seconds from 0 to 60, or a range such as 0.2-1.5.'),
        ("defect=total-is-text", 'Prefer: there is no defect "total-is-text"; did you mean meta-total-is-text'),
        ("cod=429", 'Prefer: the mock knows no preference "cod"; it knows code, delay, defect, lost.'),
    ],
)
def test_a_preference_that_cannot_be_meant_is_a_clear_refusal(prefer: str, title: str) -> None:
    answer = preferring(prefer)
    assert answer.status_code == 400
    assert answer.json["errors"][0]["title"].startswith(title)  # type: ignore[index]
    assert "Preference-Applied" not in answer.headers


def test_preferences_of_others_are_passed_over() -> None:
    answer = preferring("return=minimal, wait=10")
    assert (answer.status_code, "Preference-Applied" in answer.headers) == (200, False)


def test_a_delay_may_be_a_range() -> None:
    delays = [preferences_of("delay=0.2-1.5").delay for _ in range(50)]
    assert all(0.2 <= delay <= 1.5 for delay in delays)
    assert len(set(delays)) > 1
    assert preferences_of("delay=2").delay == 2
