"""pytest: the fixture `mock_server` is one server for the whole run; each test takes an account of its own."""

import pytest
import requests


@pytest.fixture
def api(mock_server, request):
    """Speaks to the mock as an account that no other test has."""

    def call(method, path, **more):
        headers = {"Authorization": f"Bearer sandbox-{request.node.name}", **more.pop("headers", {})}
        return requests.request(method, mock_server.base_url + path, headers=headers, timeout=10, **more)

    return call


def test_a_page_that_was_created_is_listed_first(api):
    made = api("POST", "/api/projects", files={"name": (None, "Autumn sale")}).json()["data"]["id"]
    assert api("GET", "/api/splash-pages/?results_per_page=10").json()["data"][0]["id"] == made


def test_a_client_waits_when_it_is_told_to(api):
    answer = api("GET", "/api/domains/", headers={"Prefer": "code=429"})
    assert (answer.status_code, answer.headers["X-RateLimit-Reset"]) == (429, "1")


def test_a_create_whose_answer_is_lost_has_made_its_record(api):
    with pytest.raises(requests.exceptions.RequestException):
        api("POST", "/api/domains", files={"host": (None, "lost.example.com")}, headers={"Prefer": "lost=after"})
    listed = api("GET", "/api/domains/?results_per_page=10").json()["data"]
    assert listed[0]["host"] == "lost.example.com"


def test_my_client_makes_no_mistakes(api, mock_server):
    api("GET", "/api/domains/?results_per_page=25&page=2")
    found = mock_server.running.journal.find(account="sandbox-test_my_client_makes_no_mistakes", remarks="1")
    assert found == []
