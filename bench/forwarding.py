"""What it costs to have a server in front of a deployment: this one, Prism's proxy and mitmproxy, in one run.

One client sends one request after another over a kept connection. The deployment is a mock on this machine; its own
time is subtracted. Prism is taken from `bench/peers`, mitmproxy from where `--mitmdump` says or from the path; what is
not there is left out.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection
from pathlib import Path
from statistics import median

from servers import CONTRACT, FORM, KEY, PEERS, PNG
from urllib3.filepost import encode_multipart_formdata

THERE, HERE = 9391, 9392
REQUESTS, ROUNDS = 400, 5
SECONDS_TO_START = 30.0
LISTED = "/api/domains/?page=1&results_per_page=25"
MOCK = Path(sys.executable).with_name("mock-server")
Call = tuple[str, str, bytes, str]


@contextmanager
def listening(port: int, command: Sequence[str | Path]) -> Iterator[None]:
    """Run a server until it is no longer needed."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + SECONDS_TO_START
        while True:
            try:
                seconds(port, ("GET", LISTED, b"", ""), 1)
            except OSError:
                if time.monotonic() > until or process.poll() is not None:
                    raise
                time.sleep(0.1)
            else:
                break
        yield
    finally:
        process.terminate()
        process.wait()


def seconds(port: int, call: Call, requests: int) -> list[float]:
    """How long each of some requests took."""
    method, path, body, media_type = call
    headers = {"Authorization": KEY} | ({"Content-Type": media_type} if body else {})
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    took = []
    for _ in range(requests):
        began = time.perf_counter()
        connection.request(method, path, body=body or None, headers=headers)
        answer = connection.getresponse()
        answer.read()
        took.append(time.perf_counter() - began)
        if answer.status >= 400:
            raise RuntimeError(f"{method} {path}: {answer.status}")
    connection.close()
    return took


def proxies(mitmdump: str | None) -> dict[str, list[str | Path]]:
    """The command of each server that can stand in front of a deployment."""
    there = f"http://127.0.0.1:{THERE}"
    prism = PEERS / ".bin" / "prism"
    known: dict[str, list[str | Path]] = {
        "this server": [MOCK, "--forward-to", there, "--port", str(HERE), "--log-level", "error"]
    }
    if prism.exists():
        known["Prism 5.16, `prism proxy`"] = [prism, "proxy", CONTRACT, there, "--port", str(HERE), "--errors", "false"]
    if mitmdump:
        options = ["--mode", f"reverse:{there}", "--listen-port", str(HERE), "--listen-host", "127.0.0.1", "--quiet"]
        known["mitmproxy, `mitmdump`"] = [mitmdump, *options]
    return known


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mitmdump", default=shutil.which("mitmdump"), help="where mitmproxy's command is")
    given = parser.parse_args()
    body, media_type = encode_multipart_formdata(dict(FORM))
    upload, upload_type = encode_multipart_formdata({**FORM, "logo": ("logo.png", PNG, "image/png")})
    calls: dict[str, tuple[Call, int]] = {
        "read": (("GET", "/api/domains/1", b"", ""), REQUESTS),
        "list of 25": (("GET", LISTED, b"", ""), REQUESTS),
        "create": (("POST", "/api/projects", body, media_type), REQUESTS),
        "1 MB upload": (("POST", "/api/projects", upload, upload_type), REQUESTS // 10),
    }
    took: dict[str, dict[str, list[float]]] = {}
    there: list[str | Path] = [MOCK, "--port", str(THERE), "--log-level", "error", "--records", "100"]
    for _ in range(ROUNDS):
        for name, command in proxies(given.mitmdump).items():
            with ExitStack() as stack:
                stack.enter_context(listening(THERE, there))
                stack.enter_context(listening(HERE, command))
                for call, (request, times) in calls.items():
                    seconds(HERE, request, times // 4)
                    direct, by_it = median(seconds(THERE, request, times)), median(seconds(HERE, request, times))
                    took.setdefault(name, {}).setdefault(call, []).append(by_it - direct)
    costs = {name: {call: median(every) for call, every in each.items()} for name, each in took.items()}
    ours = costs["this server"]
    print(f"| milliseconds more than without | {' | '.join(calls)} |")
    print(f"|---|{'---:|' * len(calls)}")
    for name, each in costs.items():
        cells = [
            f"{each[call] * 1000:.2f}" + ("" if each is ours else f" ({each[call] / ours[call]:.1f} times)")
            for call in calls
        ]
        print(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
