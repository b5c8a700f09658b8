"""Processes of a shared mock are killed under load, and then Redis itself."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Self

import pytest
import requests
from redis_server import RedisServer
from shell import NEEDS_PROC, spawned
from upstream import wait_for
from wire import HARBOUR

pytestmark = pytest.mark.slow

PROCESSES, CLIENTS = 3, 3
PATIENCE = 120.0  # seconds for what takes well under one
HEADERS = {"Authorization": f"Bearer {HARBOUR}"}
DURABLE = ("--appendonly", "yes", "--appendfsync", "always")


class Load:
    """Clients that create, change and delete records, and note what was acknowledged."""

    def __init__(self, url: str) -> None:
        self._url, self._ends = url, threading.Event()
        self.made: dict[int, str] = {}
        self.deleted: set[int] = set()
        self.refused = self.broken = 0
        self.wrong: list[str] = []
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(CLIENTS)]

    def __enter__(self) -> Self:
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Finish the requests under way, and send no more."""
        self._ends.set()
        for each in self._threads:
            each.join()

    def _run(self, number: int) -> None:
        count = 0
        while not self._ends.is_set():
            count += 1
            host = f"client-{number}-{count}.example.com"
            made = self._ask("POST", f"{self._url}/api/domains", {"host": host}, HTTPStatus.CREATED)
            if made is None:
                continue
            identifier = made.json()["data"]["id"]
            self.made[identifier] = host
            path = f"{self._url}/api/domains/{identifier}"
            if count % 3 == 0:
                self.made[identifier] = f"moved-{host}|{host}"  # until it is acknowledged, either may be there
                if self._ask("POST", path, {"host": f"moved-{host}"}, HTTPStatus.OK):
                    self.made[identifier] = f"moved-{host}"
            if count % 5 == 0:
                self.made[identifier] += "|"
                if self._ask("DELETE", path, None, HTTPStatus.OK):
                    del self.made[identifier]
                    self.deleted.add(identifier)

    def _ask(
        self, method: str, url: str, form: dict[str, str] | None, expected: HTTPStatus
    ) -> requests.Response | None:
        """The answer, if the request was carried out; any other must be a clean 503, or none from a dead process."""
        try:
            answer = requests.request(method, url, data=form, headers=HEADERS, timeout=PATIENCE)
        except requests.ConnectionError:
            self.broken += 1
            time.sleep(0.01)
            return None
        if answer.status_code == HTTPStatus.SERVICE_UNAVAILABLE and answer.json()["errors"][0]["status"] == 503:
            self.refused += 1
            time.sleep(0.01)
        elif answer.status_code != expected:
            self.wrong.append(f"{method} {url}: {answer.status_code} {answer.text}")
        return answer if answer.status_code == expected else None


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[RedisServer]:
    with RedisServer(tmp_path, *DURABLE) as running:
        yield running


@contextmanager
def started(redis: RedisServer, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """A mock of several processes; the first of them."""
    command = [sys.executable, "-m", "mock_server", "--port", str(port), "--fixture", "empty", "--store", redis.url]
    command += ["--workers", str(PROCESSES), "--log-level", "error"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.terminate()
            process.wait(PATIENCE)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
        return port


def answers(url: str) -> bool:
    try:
        return requests.get(f"{url}/api/domains/", headers=HEADERS, timeout=PATIENCE).status_code == HTTPStatus.OK
    except requests.ConnectionError:
        return False


@NEEDS_PROC
def test_nothing_acknowledged_is_lost_when_processes_and_redis_are_killed(redis: RedisServer) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with started(redis, port) as first, Load(url) as load:  # from the first second: processes start under load
        wait_for(lambda: len(spawned(first.pid)) == PROCESSES - 1)
        for _ in range(2):
            before, made = spawned(first.pid), len(load.made)
            os.kill(min(before), signal.SIGKILL)
            wait_for(lambda before=before: len(spawned(first.pid) - before) == 1)  # type: ignore[misc]
            wait_for(lambda made=made: len(load.made) > made + 20)  # type: ignore[misc]
        redis.kill()
        wait_for(lambda: load.refused > 2 * CLIENTS)
        redis.start()
        wait_for(lambda: answers(url))
        made = len(load.made)
        wait_for(lambda: len(load.made) > made + 20)
        load.end()
        assert load.wrong == []
        assert load.deleted
        shown = kept(url)
    lost = {number: host for number, host in load.made.items() if shown.get(number, "") not in host.split("|")}
    assert lost == {}
    assert load.deleted & shown.keys() == set()


def kept(url: str) -> dict[int, str]:
    """All records, by pages."""
    found: dict[int, str] = {}
    for page in range(1, 1000):
        path = f"{url}/api/domains/?results_per_page=1000&page={page}"
        body = requests.get(path, headers=HEADERS, timeout=PATIENCE).json()
        found |= {row["id"]: row["host"] for row in body["data"]}
        if page >= body["meta"]["total_pages"]:
            break
    return found
