"""How long a form of 16 MiB of junk keeps other clients of a mock waiting: `python bench/junk.py`.

For each kind of junk, the slowest of the answers that another client got meanwhile, less what is usual.
"""

from __future__ import annotations

import http.client
import os
import threading
import time
from contextlib import suppress

import hostile

SIZE = 16 * 2**20
HEAD = b'--XX\r\nContent-Disposition: form-data; name="logo"; filename="logo.png"\r\n\r\n'
END = b"\r\n--XX--\r\n"
JUNK = {
    "zeros": b"\0",
    "bare line feeds": b"\n",
    "line breaks": b"\r\n",
    "hyphens": b"-",
    "halves of the boundary": b"\r\n--X",
    "the boundary and more": b"\r\n--XXy",
    "random bytes": os.urandom(2**16),
}
ROUNDS = 5


def main() -> None:
    """Print the table."""
    with hostile.started() as mock:
        host = f"{mock.host}:{mock.port}"
        for name, unit in JUNK.items():
            filling = unit * (SIZE // len(unit))
            bodies = {"alone": filling, "as a file": (HEAD + filling)[: SIZE - len(END)] + END}
            waits = [f"{kind} {1000 * max(0.0, _wait(host, body)):3.0f} ms" for kind, body in bodies.items()]
            print(f"{name:24}{'   '.join(waits)}")


def _wait(host: str, body: bytes) -> float:
    """By how many seconds the slowest answer to another client was later than usual, at the median of some rounds."""
    usual = max(_answers(host, 0.3))
    found = []
    for _ in range(ROUNDS):
        thread = threading.Thread(target=_send, args=(host, body))
        thread.start()
        found.append(max(_answers(host, 0.6)) - usual)
        thread.join()
    return sorted(found)[ROUNDS // 2]


def _answers(host: str, seconds: float) -> list[float]:
    connection, taken, until = http.client.HTTPConnection(host, timeout=60), [], time.perf_counter() + seconds
    while (began := time.perf_counter()) < until:
        connection.request("GET", "/api/domains/1", headers={"Authorization": "Bearer sandbox-other"})
        connection.getresponse().read()
        taken.append(time.perf_counter() - began)
        time.sleep(0.002)
    connection.close()
    return taken


def _send(host: str, body: bytes) -> None:
    connection = http.client.HTTPConnection(host, timeout=60)
    headers = {"Authorization": "Bearer sandbox-junk", "Content-Type": "multipart/form-data; boundary=XX"}
    with suppress(OSError, http.client.HTTPException):  # the server may refuse it before it is sent
        connection.request("POST", "/api/projects", body=body, headers=headers)
        connection.getresponse().read()
    connection.close()


if __name__ == "__main__":
    main()
