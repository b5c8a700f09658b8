from __future__ import annotations

from itertools import pairwise

import pytest
from wire import HARBOUR, Client, in_process

from link_management_contract import shipped_contract
from mock_server import MockServer, Settings, create_app
from mock_server.settings.choices import greased

POINTS = shipped_contract().open_points


def test_a_seed_means_the_same_choices_and_all_seeds_together_every_value() -> None:
    assert greased(POINTS, 7) == greased(POINTS, 7)
    seen = {(name, value) for seed in range(200) for name, value in greased(POINTS, seed).items()}
    assert seen == {(name, value) for name, point in POINTS.items() for value in point.values}


def test_a_point_that_is_chosen_is_left_as_it_is() -> None:
    for seed in range(20):
        app = create_app(Settings(grease=seed, choices={"open.create-status": "202"}))
        assert app.extensions["mock_server"].choices["create-status"] == "202"


@pytest.mark.parametrize("path", ["/api/domains/", "/api/domains/404404", "/nowhere", "/openapi.yaml"])
def test_every_answer_names_the_seed(path: str) -> None:
    with MockServer(grease=7) as server:
        client = Client(in_process(server.app), HARBOUR)
        assert client.get(path).headers["X-Mock-Grease"] == "7"


def test_without_grease_no_answer_speaks_of_it() -> None:
    client = Client(in_process(create_app(Settings())), HARBOUR)
    assert "X-Mock-Grease" not in client.get("/api/domains/").headers


def test_errors_are_told_in_other_words_and_keys_come_in_any_order() -> None:
    app = create_app(
        Settings(grease=1, choices={"unknown-id": "404", "error-body": "errors", "key-order": "documented"})
    )
    client = Client(in_process(app), HARBOUR)
    answers = [client.get("/api/domains/404404").json for _ in range(30)]
    assert len({answer["errors"][0]["title"] for answer in answers}) > 3
    orders = {tuple(client.get("/api/domains/1").json["data"]) for _ in range(30)}
    assert len(orders) > 1


def test_further_headers_come_and_go() -> None:
    client = Client(in_process(create_app(Settings(grease=1))), HARBOUR)
    assert len({tuple(sorted(client.get("/api/domains/1").headers)) for _ in range(30)}) > 3


def test_times_leap_and_never_go_back() -> None:
    app = create_app(Settings(grease=1))
    account = app.extensions["mock_server"].accounts.get(HARBOUR)
    times = [account.clock() for _ in range(50)]
    gaps = {(later - earlier).total_seconds() for earlier, later in pairwise(times)}
    assert min(gaps) == 0
    assert max(gaps) > 3600


def test_the_same_seed_and_requests_get_the_same_answers() -> None:
    def answers() -> list[bytes]:
        client = Client(in_process(create_app(Settings(grease=5))), HARBOUR)
        paths = ["/api/domains/?page=2", "/api/domains/1", "/api/domains/404404"] * 5
        return [client.get(path).body for path in paths]

    assert answers() == answers()
