from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from wire import Client, over_network

from mock_server import MockServer


def test_the_fixture_serves_a_mock_to_the_tests_of_a_client(mock_server: MockServer) -> None:
    client = Client(over_network(mock_server.base_url), "sandbox-plugin")
    client.create("/api/projects", {"name": "Only here"})
    assert client.get("/api/splash-pages/").json["data"][0]["name"] == "Only here"


def test_the_fixture_is_the_same_server_and_another_sandbox_is_untouched(mock_server: MockServer) -> None:
    client = Client(over_network(mock_server.base_url), "sandbox-another")
    assert client.get("/api/splash-pages/").json["data"][0]["name"] != "Only here"


def pytest_alone(*options: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """What comes of the tests in a folder with this plugin alone, since the others of this environment take seconds."""
    plugins = ("-p", "no:cacheprovider", "-p", "mock_server.pytest_plugin")
    line: list[str | Path] = [sys.executable, "-m", "pytest", *plugins, *options, folder]
    alone = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.run(line, capture_output=True, text=True, check=False, cwd=folder, env=alone)


MISTAKEN = """
import pytest, requests

def call(account):
    requests.get(account.base_url + "/api/domains/?limit=5", headers=account.headers, timeout=60)

def test_right(mock_account):
    requests.get(mock_account.base_url + "/api/domains/", headers=mock_account.headers, timeout=60)

def test_wrong(mock_account):
    call(mock_account)

@pytest.mark.mock_meant("client.*")
def test_meant(mock_account):
    call(mock_account)

@pytest.mark.mock_meant(["client.unknown-parameter"])
def test_meant_by_a_list(mock_account):
    call(mock_account)

@pytest.mark.mock_meant
def test_all_meant(mock_account):
    call(mock_account)

@pytest.mark.mock_meant("client.*")
def test_meant_after_a_reset(mock_account):
    mock_account.reset(fixture="empty")
    call(mock_account)

@pytest.mark.parametrize("status", [429, 503])
def test_forced_with_parameters(mock_account, status):
    mock_account.force(status=status)
    url = mock_account.base_url + "/api/domains/"
    assert requests.get(url, headers=mock_account.headers, timeout=60).status_code == status
"""


def test_a_test_whose_client_makes_a_mistake_fails_unless_it_is_meant(tmp_path: Path) -> None:
    (tmp_path / "test_client.py").write_text(MISTAKEN, "utf-8")
    ended = pytest_alone("--strict-markers", folder=tmp_path)
    assert "8 passed, 1 error" in ended.stdout, ended.stdout
    assert "ERROR test_client.py::test_wrong" in ended.stdout
    assert 'client.unknown-parameter: The parameter "limit" is not documented' in ended.stdout


RELYING = """
import requests

def test_created(mock_account):
    form, url = {"host": (None, "go.example.com")}, mock_account.base_url + "/api/domains"
    assert requests.post(url, files=form, headers=mock_account.headers, timeout=60).status_code == 201

def test_without_a_mock():
    pass
"""


def test_each_test_of_a_client_runs_once_for_each_choice_on_request(tmp_path: Path) -> None:
    (tmp_path / "test_client.py").write_text(RELYING, "utf-8")
    ended = pytest_alone("--mock-try", "-k", "default or create-status or order or without", folder=tmp_path)
    failed = [each.partition(" - ")[0] for each in ended.stdout.splitlines() if each.startswith("FAILED")]
    assert failed == [
        "FAILED test_client.py::test_created[create-status=200]",
        "FAILED test_client.py::test_created[create-status=202]",
    ]
    assert (
        "2 failed, 5 passed, " in ended.stdout
    )  # two of order, one of key-order, the default, and the test without a mock
