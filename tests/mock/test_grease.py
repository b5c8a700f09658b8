from __future__ import annotations

import pytest
from wire import HARBOUR, Client, in_process

from mock_server import MockServer, Settings, create_app
from mock_server.contract import shipped_contract
from mock_server.grease import greased

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
