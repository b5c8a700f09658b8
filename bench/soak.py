"""Ten thousand requests with bodies of 5 MB, files and texts, in many sandboxes: how much memory the mock takes.

Prints the memory of the server's process as it goes; nothing is judged.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path

SIZE = 5_000_000  # bytes
CLIENTS = 4
BOUNDARY = "soak-7f3a"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=10_000)
    requests = parser.parse_args().requests
    command: list[str | Path] = [Path(sys.executable).with_name("mock-server"), "--port", "0", "--log-level", "warning"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout
        address = server.stdout.readline().split()[-1].removeprefix("http://")
        try:
            soak(server.pid, address, requests)
        finally:
            server.terminate()


def soak(pid: int, address: str, requests: int) -> None:
    print(f"{'requests':>9} {'GB sent':>8} {'memory':>9} {'most':>9}")
    began, step = time.monotonic(), max(1, requests // 10)
    for done in range(0, requests + 1, step):
        if done:
            with ThreadPoolExecutor(CLIENTS) as pool:
                list(pool.map(lambda number: send(address, number), range(done - step, done)))
        now, most = memory(pid)
        print(f"{done:9,} {done * SIZE / 1e9:8.1f} {now:6.0f} MB {most:6.0f} MB", flush=True)
    print(f"in {time.monotonic() - began:.0f} s")


def send(address: str, number: int) -> None:
    """Create a splash page with an image of 5 MB, or with 5 MB of style sheet."""
    part = 'name="logo"; filename="a.png"\r\nContent-Type: image/png' if number % 2 else 'name="custom_css"'
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="name"\r\n\r\nSoak {number}\r\n'
    body = f"{head}--{BOUNDARY}\r\nContent-Disposition: form-data; {part}\r\n\r\n".encode()
    body += b"x" * SIZE + f"\r\n--{BOUNDARY}--\r\n".encode()
    connection = HTTPConnection(address)
    headers = {
        "Authorization": f"Bearer sandbox-{number % 500}",
        "Content-Type": f"multipart/form-data; boundary={BOUNDARY}",
    }
    connection.request("POST", "/api/projects", body, headers)
    answer = connection.getresponse()
    answer.read()
    assert answer.status in (201, 413), answer.status
    connection.close()


def memory(pid: int) -> tuple[float, float]:
    """What a process takes now, and took at most, in MB."""
    status = Path(f"/proc/{pid}/status").read_text("utf-8")
    now, most = (int(re.findall(rf"{name}:\s+(\d+)", status)[0]) / 1000 for name in ("VmRSS", "VmHWM"))
    return now, most


if __name__ == "__main__":
    main()
