"""The container image, built and run by Podman, and what compose.yaml starts.

No registry is asked for the base: it has this machine's own Debian packages, without what their scripts do.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from wire import HARBOUR

from mock_server.cli import parse, settings_of

ROOT = Path(__file__).parents[1]
NEEDED = ("podman", "apt-cache", "dpkg-query")
PACKAGES = ("base-files", "coreutils", "dash", "python3-venv")
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"  # a script makes it
MOST_BYTES = 120_000_000  # on top of the base
SECONDS_TO_STOP = 60  # until it is killed; the status tells whether it was
READ = f"""
import json, os, time, urllib.request
request = urllib.request.Request("http://127.0.0.1:8000/api/domains/1", headers={{"Authorization": "Bearer {HARBOUR}"}})
until = time.monotonic() + 60
while True:
    try:
        print(urllib.request.urlopen(request, timeout=60).read().decode())
        break
    except ConnectionError:
        assert time.monotonic() < until
        time.sleep(0.02)
"""


class Podman:
    """Podman with a storage of its own.

    Args:
        folder: where that is.
    """

    def __init__(self, folder: Path) -> None:
        self._command = ["podman", "--root", str(folder / "storage"), "--runroot", str(folder / "run")]
        self._command += ["--cgroup-manager", "cgroupfs", "--events-backend", "none"]

    def ended(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """A command that has ended, whether it failed or not."""
        return subprocess.run([*self._command, *arguments], capture_output=True, text=True, check=False)

    def __call__(self, *arguments: str | Path) -> str:
        """What a command prints that succeeds."""
        ended = self.ended(*arguments)
        assert ended.returncode == 0, f"{arguments}: {ended.stdout}{ended.stderr}"
        return ended.stdout.strip()

    def start(self, *command: str) -> str:
        """The id of a container that runs a command, with a loopback interface of its own and no other."""
        return self("run", "--detach", "--network", "none", "--cgroups", "disabled", "image", *command)


def listed(*command: str) -> list[str]:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()


def base(folder: Path) -> Path:
    """An archive of the files of a few Debian packages and of all that they depend on."""
    others = [f"--no-{kind}" for kind in ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")]
    found = listed("apt-cache", "depends", "--recurse", "--installed", *others, *PACKAGES)
    names = {name for name in found if not name.startswith((" ", "<"))}
    files = sorted({path for path in listed("dpkg-query", "--listfiles", *names) if path.startswith("/")})
    archive = folder / "base.tar"
    with tarfile.open(archive, "w") as made:
        for path in [*files, AUTHORITIES]:
            if os.path.lexists(path) and not path.startswith(("/usr/share/doc/", "/usr/share/man/")):
                made.add(path, recursive=False)
    return archive


@pytest.fixture
def podman(tmp_path: Path) -> Iterator[Podman]:
    """Podman with the images `base` and `image`."""
    missing = [name for name in NEEDED if not shutil.which(name)] or ([] if os.geteuid() == 0 else ["root"])
    if missing:
        told = f"the image was not tried, because there is no {missing[0]} here; it needs Debian, Podman and root"
        pytest.fail(told) if os.environ.get("CI") else pytest.skip(told)
    running = Podman(tmp_path)
    running("import", base(tmp_path), "base")
    try:
        running("build", "--network", "host", "--build-arg", "BASE=localhost/base", "--tag", "image", ROOT)
        yield running
    finally:
        running.ended("rm", "--all", "--force", "--time", "0")
        running.ended("rmi", "--all", "--force")


@pytest.mark.slow
def test_the_image_serves_and_judges_as_an_ordinary_user_and_stops_when_told(podman: Podman) -> None:
    config = json.loads(podman("image", "inspect", "image"))[0]
    size = config["Size"] - json.loads(podman("image", "inspect", "base"))[0]["Size"]
    print(f"{size / 1e6:.1f} MB on top of the base")
    assert size <= MOST_BYTES

    began = time.monotonic()
    mock = podman.start()
    record = json.loads(podman("exec", mock, "python3", "-c", READ))
    print(f"{time.monotonic() - began:.2f} s from its start to the first record")
    assert record["data"]["id"] == 1
    assert podman("exec", mock, "stat", "--format", "%u", "/proc/1") == "1000"

    for command in ("mock-server", "contract-tests"):
        assert podman("exec", mock, command, "--version").startswith(f"{command} 0.")
    judge = ("contract-tests", "run", "--base-url", "http://127.0.0.1:8000", "--resources", "domains", "--explore", "0")
    told = podman("exec", "--env", f"CONTRACT_API_KEY={HARBOUR}", mock, *judge, "--lag", "0", "--read-only")
    assert "partial: no claim" in told

    check = config["HealthCheck"]["Test"][1:]
    assert podman.ended("exec", mock, *check).returncode == 0
    other = podman.start("sleep", "600")
    assert podman.ended("exec", other, *check).returncode == 1

    began = time.monotonic()
    podman("stop", "--time", str(SECONDS_TO_STOP), mock)
    print(f"{time.monotonic() - began:.2f} s until it stopped")
    assert podman("inspect", "--format", "{{.State.ExitCode}}", mock) == "0"
    assert podman("logs", mock).endswith("Stopped.")


def test_what_compose_starts_are_mocks_that_only_this_machine_reaches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MOCK_HOST", "0.0.0.0")  # as the image does
    services: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))["services"]
    ours = {name: service for name, service in services.items() if "build" in service}
    stores = {}
    for name, service in ours.items():
        options = parse(service.get("command", ["mock-server"])[1:])
        assert (options.host, options.port) == ("0.0.0.0", 8000)
        stores[name] = settings_of(options)["store"]
    assert stores == {"mock": None, "shared": "redis://redis/0"}
    ports = [port for service in services.values() for port in service.get("ports", [])]
    assert ports == ["127.0.0.1:8000:8000", "127.0.0.1:8001-8002:8000"]
