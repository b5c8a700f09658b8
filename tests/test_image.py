"""The container image, built by Buildah and run as a container would be, and what compose.yaml starts.

No registry is asked for the base: it has this machine's own Debian packages, without what their scripts do.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from shell import children
from wire import HARBOUR

from mock_server.cli import parse, settings_of

ROOT = Path(__file__).parents[1]
NEEDED = ("buildah", "apt-cache", "dpkg-query", "unshare", "ip")
PACKAGES = ("base-files", "coreutils", "dash", "python3", "python3-pip")
LEFT_OUT = ("/usr/share/doc", "/usr/share/locale", "/usr/share/man", "/usr/share/zoneinfo")
AUTHORITIES = Path("/etc/ssl/certs/ca-certificates.crt")  # a package's script makes it
MOST_BYTES = 120_000_000  # on top of the base
SECONDS = 120
BEGIN = """
ip link set lo up && mount --rbind /dev "$0/dev" && mount --types proc proc "$0/proc" &&
mount --bind --options ro "$0" "$0" && mount --types tmpfs tmpfs "$0/tmp" && exec chroot --userspec "$@"
"""
READ = f"""
import json, time, urllib.request
request = urllib.request.Request("http://127.0.0.1:8000/api/domains/1", headers={{"Authorization": "Bearer {HARBOUR}"}})
until = time.monotonic() + {SECONDS}
while True:
    try:
        print(urllib.request.urlopen(request, timeout={SECONDS}).read().decode())
        break
    except OSError:
        assert time.monotonic() < until
        time.sleep(0.02)
"""
STARTING = """
import os, signal
os.mkfifo("/tmp/token")
if os.fork():
    os.execvp("mock-server", ["mock-server", "--control-token-file", "/tmp/token"])
token = open("/tmp/token", "w")
print("The mock waits for its token.", flush=True)
signal.pause()
"""


@dataclass(frozen=True)
class Image:
    """An image whose files lie in a folder.

    Attributes:
        files: the folder.
        base: the folder of its base.
        config: how it is run.
    """

    files: Path
    base: Path
    config: dict[str, Any]

    def _inside(self, *command: str) -> list[str]:
        environment = ["env", "--ignore-environment", f"--chdir={self.config['WorkingDir']}", *self.config["Env"]]
        return [*environment, *command]

    @contextmanager
    def running(self, *command: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
        """A process that unshares namespaces, and the id of the one that it starts there as the first.

        As for a container with a read-only file system and a loopback interface alone. The signals of that first
        process do nothing unless it handles them.
        """
        unshare = ["unshare", "--mount", "--pid", "--net", "--ipc", "--uts", "--fork"]
        root, user = str(self.files), self.config["User"]
        line = [*unshare, "sh", "-c", BEGIN, root, user, root, *self._inside(*(command or self.config["Cmd"]))]
        with subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
            try:
                until = time.monotonic() + SECONDS
                while not (inside := [pid for pid in children(process.pid) if Path(f"/proc/{pid}").stat().st_uid]):
                    assert process.poll() is None
                    assert time.monotonic() < until
                    time.sleep(0.01)
                yield process, inside[0]
            finally:
                for pid in children(process.pid) if process.poll() is None else ():  # the rest of its namespace follows
                    os.kill(pid, signal.SIGKILL)
                process.kill()

    def ended(self, beside: int, *command: str) -> subprocess.CompletedProcess[str]:
        """A command that has ended, beside the first process of a container."""
        user, group = self.config["User"].split(":")
        enter = ["nsenter", "--target", str(beside), "--mount", "--pid", "--net", "--ipc", "--uts", "--root"]
        line = [*enter, "--setuid", user, "--setgid", group, *self._inside(*command)]
        return subprocess.run(line, capture_output=True, text=True, check=False, timeout=SECONDS)

    def printed(self, beside: int, *command: str) -> str:
        """What a command prints that succeeds."""
        ended = self.ended(beside, *command)
        assert ended.returncode == 0, f"{command}: {ended.stdout}{ended.stderr}"
        return ended.stdout


def printed(*command: str | Path, given: str | None = None) -> str:
    """What a command prints that succeeds."""
    ended = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, f"{command}: {ended.stdout[-2000:]}{ended.stderr[-2000:]}"
    return ended.stdout.strip()


def size(folder: Path) -> int:
    """The bytes of all files and folders."""
    return int(printed("du", "--summarize", "--bytes", folder).split()[0])


def put_base(folder: Path) -> None:
    """Copy the files of a few Debian packages, and of all that they depend on, into a folder."""
    others = [f"--no-{kind}" for kind in ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")]
    found = printed("apt-cache", "depends", "--recurse", "--installed", *others, *PACKAGES).splitlines()
    installed = printed("dpkg-query", "--show", "--showformat", "${Package}\\n").splitlines()
    lines = printed("dpkg-query", "--listfiles", *{*found} & {*installed}).splitlines()
    paths = [Path(line) for line in lines if line.startswith("/") and not line.startswith(LEFT_OUT)]
    files = {path.parent.resolve() / path.name for path in [*paths, AUTHORITIES]}  # /bin is a link to /usr/bin
    there = "\0".join(str(path) for path in sorted(files) if os.path.lexists(path))
    archive = folder.parent / "base.tar"
    to_archive = ("tar", "--create", "--absolute-names", "--no-recursion", "--null", "--files-from", "-")
    printed(*to_archive, "--file", archive, given=there)
    printed("tar", "--extract", "--file", archive, "--directory", folder)


@pytest.fixture
def image(tmp_path: Path) -> Iterator[Image]:
    """The image, built as its Dockerfile says."""
    missing = [name for name in NEEDED if not shutil.which(name)] or ([] if os.geteuid() == 0 else ["root"])
    if missing:
        told = f"the image was not built, because there is no {missing[0]} here; it takes Debian, Buildah and root"
        pytest.fail(told) if os.environ.get("CI") else pytest.skip(told)
    buildah = ("buildah", "--root", tmp_path / "storage", "--runroot", tmp_path / "run")
    try:
        empty = printed(*buildah, "from", "scratch")
        put_base(Path(printed(*buildah, "mount", empty)))
        printed(*buildah, "commit", "--quiet", empty, "base")
        options = "--isolation chroot --network host --format docker --build-arg BASE=localhost/base --tag image"
        printed(*buildah, "build", *options.split(), ROOT)
        made = printed(*buildah, "from", "--pull-never", "localhost/image")
        config = json.loads(printed(*buildah, "inspect", made))["Docker"]["config"]
        files, base = (Path(printed(*buildah, "mount", each)) for each in (made, empty))
        yield Image(files, base, config)
    finally:
        subprocess.run([*buildah, "rm", "--all"], capture_output=True, check=False)
        subprocess.run([*buildah, "rmi", "--all", "--force"], capture_output=True, check=False)


@pytest.mark.slow
def test_the_image_serves_and_judges_as_an_ordinary_user_and_stops_when_told(image: Image) -> None:
    more = size(image.files) - size(image.base)
    print(f"{more / 1e6:.1f} MB on top of the base")
    assert 0 < more <= MOST_BYTES

    assert image.config["ExposedPorts"] == {"8000/tcp": {}}
    writable = (str(image.files / "opt"), "(", "-user", "1000", "-o", "-perm", "-o+w", ")", "!", "-type", "l")
    assert printed("find", *writable) == ""

    began = time.monotonic()
    with image.running() as (process, mock):
        assert process.stdout
        assert process.stdout.readline() == "Mock server  http://0.0.0.0:8000\n"
        record = json.loads(image.printed(mock, "python3", "-c", READ))
        print(f"{time.monotonic() - began:.2f} s from the start to the first record")
        assert record["data"]["id"] == 1
        assert "\nUid:\t1000\t1000\t1000\t1000\n" in Path(f"/proc/{mock}/status").read_text("utf-8")

        for command in ("mock-server", "contract-tests"):
            assert image.printed(mock, command, "--version").startswith(command)
        judge = ("contract-tests", "run", "--base-url", "http://127.0.0.1:8000", "--resources", "domains")
        with_key = ("env", f"CONTRACT_API_KEY={HARBOUR}", *judge, "--explore", "0", "--lag", "0", "--read-only")
        assert "\npartial: no claim" in image.printed(mock, *with_key)

        check = image.config["Healthcheck"]["Test"]
        assert check[0] == "CMD"
        assert image.ended(mock, *check[1:]).returncode == 0
        with image.running("sleep", str(SECONDS)) as (_, other):
            assert image.ended(other, *check[1:]).returncode == 1

        began = time.monotonic()
        os.kill(mock, signal.SIGTERM)
        process.communicate(timeout=SECONDS)
        print(f"{time.monotonic() - began:.2f} s from the signal to its end")
        assert process.returncode == 0

    with image.running("python3", "-c", STARTING) as (process, mock):
        assert process.stdout
        assert process.stdout.readline() == "The mock waits for its token.\n"
        os.kill(mock, signal.SIGTERM)
        assert process.wait(SECONDS) == 128 + signal.SIGTERM


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
