"""What a single request asks of the mock itself (RFC 7240): `Prefer: code=429, delay=1.5, defect=NAME`."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches

from werkzeug.http import parse_list_header, unquote_header_value

from mock_server.defects import DEFECTS

OURS = ("code", "delay", "defect", "lost")
OF_OTHERS = ("respond-async", "return", "wait", "handling")  # registered preferences that the mock ignores
MOST, MOST_DEFECTS = 20, 3  # preferences of one request
LONGEST, LONGEST_DELAY = 2000, 60.0  # characters of a header, and seconds
STATUS = re.compile(r"[0-9]{3}")
SECONDS = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)(?:-(\d{1,9}(?:\.\d{1,9})?))?", re.ASCII)
LEAST_CODE, MOST_CODE = 400, 599


@dataclass
class Preferred:
    """What one request prefers: which answer, after how many seconds, with which defects, or no answer at all."""

    code: int | None = None
    delay: float = 0.0
    lost: str = ""
    defects: tuple[str, ...] = ()
    applied: tuple[str, ...] = ()


def preferences_of(header: str) -> Preferred:
    """Read a `Prefer` header.

    Raises:
        ValueError: if something in it is invalid; the message is one sentence for people.
    """
    preferred = Preferred()
    for name, value in _bounded(header):
        match name:
            case "code":
                preferred.code = _code(value)
            case "delay":
                preferred.delay = _delay(value)
            case "lost" if value in ("before", "after"):
                preferred.lost = value
            case "lost":
                raise ValueError(f'Prefer: lost is "{value}"; give before or after: when the connection is to break.')
            case "defect" if value in DEFECTS:
                preferred.defects += (value,)
            case "defect":
                near = get_close_matches(value, DEFECTS, n=2, cutoff=0.5)
                hint = f"did you mean {' or '.join(near)}?" if near else "`mock-server list defects` names them all."
                raise ValueError(f'Prefer: there is no defect "{value}"; {hint}')
            case _ if name in OF_OTHERS:
                continue
            case _:
                raise ValueError(f'Prefer: the mock knows no preference "{name}"; it knows {", ".join(OURS)}.')
        preferred.applied += (f"{name}={value}",)
    return preferred


def _pairs(header: str) -> Iterator[tuple[str, str]]:
    """Names and values, without parameters after a semicolon, which have no meaning here."""
    for item in parse_list_header(header):
        name, _, value = item.partition(";")[0].partition("=")
        yield name.strip().lower(), unquote_header_value(value.strip())


def _bounded(header: str) -> list[tuple[str, str]]:
    """Names and values, unless there are too many: each defect may serve a request once more."""
    if header.count(",") >= MOST:
        raise ValueError(f"Prefer: {header.count(',') + 1} preferences are too many; give {MOST} at most.")
    if len(header) > LONGEST:
        raise ValueError(f"Prefer: {len(header):,} characters are too many; give {LONGEST:,} at most.")
    pairs = list(_pairs(header))
    defects = [value for name, value in pairs if name == "defect"]
    if len(defects) > MOST_DEFECTS or len(set(defects)) < len(defects):
        raise ValueError(f"Prefer: give {MOST_DEFECTS} defects at most, each once.")
    return pairs


def _code(value: str) -> int:
    if not STATUS.fullmatch(value) or not LEAST_CODE <= int(value) <= MOST_CODE:
        raise ValueError(f'Prefer: code is "{value}"; give a status from {LEAST_CODE} to {MOST_CODE}.')
    return int(value)


def _delay(value: str) -> float:
    """Seconds, those given or any between two that are."""
    found = SECONDS.fullmatch(value)
    least, most = (float(found[1]), float(found[2] or found[1])) if found else (-1.0, -1.0)
    if not 0 <= least <= most <= LONGEST_DELAY:
        raise ValueError(
            f'Prefer: delay is "{value}"; give seconds from 0 to {LONGEST_DELAY:g}, or a range such as 0.2-1.5.'
        )
    return random.uniform(least, most)  # noqa: S311 - no secret
