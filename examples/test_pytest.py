"""pytest: the fixture `mock_account` is an account of one mock server, and no other test has it.

A test fails if its client makes a mistake that the mock remarks; where the mistake is meant, mark the test.
"""

import pytest
import requests


@pytest.fixture
def api(mock_account):
    """Speaks to the mock as this test's account."""

    def call(method, path, **more):
        headers = mock_account.headers | more.pop("headers", {})
        return requests.request(method, mock_account.base_url + path, headers=headers, timeout=10, **more)

    return call


def test_a_page_that_was_created_is_listed_first(api):
    made = api("POST", "/api/projects", files={"name": (None, "Autumn sale")}).json()["data"]["id"]
    assert api("GET", "/api/splash-pages/?results_per_page=10").json()["data"][0]["id"] == made


def test_an_account_without_records(api, mock_account):
    mock_account.reset(fixture="empty")
    assert api("GET", "/api/domains/").json()["data"] == []


def test_a_client_waits_as_long_as_it_is_told_to(api, mock_account):
    mock_account.force(status=429, headers={"Retry-After": "2"})
    answer = api("GET", "/api/domains/")
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "2")


def test_a_field_that_is_refused(api, mock_account):
    mock_account.force(field="host", method="POST")
    answer = api("POST", "/api/domains", files={"host": (None, "taken.example.com")})
    assert answer.json()["errors"][0]["field"] == "host"


def test_a_create_whose_answer_is_lost_has_made_its_record(api):
    with pytest.raises(requests.exceptions.RequestException):
        api("POST", "/api/domains", files={"host": (None, "lost.example.com")}, headers={"Prefer": "lost=after"})
    listed = api("GET", "/api/domains/?results_per_page=10").json()["data"]
    assert listed[0]["host"] == "lost.example.com"


@pytest.mark.mock_meant("forms.name-required")
def test_what_a_missing_name_is_told(api):
    answer = api("POST", "/api/projects", files={"title": (None, "Without a name")})
    assert answer.json()["errors"][0]["rule"] == "forms.name-required"
