"""What hostile clients do to a mock: its memory, and how soon its control plane answers meanwhile.

Each attack meets a mock of its own. Nothing is judged here; `tests/mock/test_availability.py` does that with fewer.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from contextlib import AbstractContextManager

import hostile
from hostile import Mock

Attack = Callable[[Mock], AbstractContextManager[None] | None]
LAG = ("--condition", "lag=0.9")
ATTACKS: dict[str, tuple[Attack, tuple[str, ...]]] = {
    "500 delays of 60 s without a key": (lambda mock: hostile.delays(mock, "", 500), ()),
    "500 delays of 60 s in a sandbox": (lambda mock: hostile.delays(mock, "sandbox-a", 500), ()),
    "500 bodies that stall without a key": (lambda mock: hostile.stalls(mock, "", 500), ()),
    "500 bodies that stall in a sandbox": (lambda mock: hostile.stalls(mock, "sandbox-a", 500), ()),
    "500 idle connections": (lambda mock: hostile.idle(mock, 500), ()),
    "500 long answers that wait": (lambda mock: hostile.long_answers(mock, 500), ("--records", "1000")),
    "80 bodies of 16 MiB of part headers": (lambda mock: hostile.part_headers(mock, 80), ()),
    "2,000 long keys": (hostile.long_keys, ()),
    "2,000 long names of headers": (hostile.header_names, ()),
    "1,000 sandboxes of 9,000 records": (hostile.many_sandboxes, ("--records", "3000")),
    "names of control characters, and their lists": (hostile.escaped_texts, ()),
    "8 urlencoded forms of 15 MB": (hostile.urlencoded, ()),
    "30 clients that do not read lists of 20 MB": (hostile.slow_readers, ()),
    "30 bodies of 15 MB whose answers wait": (hostile.delayed_bodies, ()),
    "3,000 records of small files": (hostile.small_files, ()),
    "headers of parts that are hard to parse": (hostile.quoted_headers, ()),
    "texts that are hard to rewrite": (hostile.hard_texts, ("--open", "text=sanitised")),
    "400 texts of 15 MB": (lambda mock: hostile.large_texts(mock, 400), ()),
    "400 files of 15 MB": (lambda mock: hostile.large_files(mock, 400), ()),
    "400 texts of 15 MB under a lag": (lambda mock: hostile.large_texts(mock, 400), LAG),
    "50 bodies without an end": (lambda mock: hostile.endless_chunks(mock, 50), ()),
    "50 bodies without an end under a lag": (lambda mock: hostile.endless_chunks(mock, 50), LAG),
    "1,000 forms of 100 media types": (lambda mock: hostile.media_types(mock, 1000), ()),
    "10,000 small records": (lambda mock: hostile.many_records(mock, 10_000), ()),
    "requests of 1,000 sandboxes under a rate limit": (hostile.many_sandboxes, ("--rate-limit", "60/m")),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("attacks", nargs="*", metavar="TEXT", help="only those whose name holds it")
    wanted = parser.parse_args().attacks
    print(f"{'attack':50} {'took s':>7} {'answers after s':>16} {'memory MB':>10} {'most MB':>8}")
    for name, (attack, options) in ATTACKS.items():
        if not wanted or any(text in name for text in wanted):
            with hostile.started(*options) as mock:
                began = time.monotonic()
                held = attack(mock)
                took = time.monotonic() - began
                if held is None:
                    seconds = mock.state_seconds()
                else:
                    with held:
                        seconds = mock.state_seconds()
                now, most = mock.memory()
            print(f"{name:50} {took:7.1f} {seconds:16.3f} {now:10.0f} {most:8.0f}", flush=True)


if __name__ == "__main__":
    main()
