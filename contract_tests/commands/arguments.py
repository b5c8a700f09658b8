"""The options of the commands: their names, their values, and the messages for invalid values."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

LONGEST_LAG = 60
SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}
Add = Callable[..., Any]


def add_prove(add: Add) -> None:
    """Add the options of `contract-tests prove`."""
    add("--defect", action="append", default=[], metavar="NAME", help="this one alone (default: all that the mock has)")
    add("--seeds", type=_number, default=5, metavar="N", help="servers with each defect (default: %(default)s)")
    add("--grease", type=_number, default=300, metavar="N", help="correct servers (default: %(default)s)")
    add("--short", action="store_true", help="try a sample of both, in little more than a minute")
    add("--jobs", type=_number, metavar="N", help="servers judged at once (default: 4 a core)")
    add("--markdown", metavar="FILE", help="write the matrix to this file, as Markdown")
    add("--json", metavar="FILE", help="write the matrix to this file, as JSON")


def add_run(add: Add) -> None:
    """Add the options of `contract-tests run`."""
    add("--base-url", type=base_url, required=True, metavar="URL", help="URL of the implementation, with its prefix")
    add_target(add)
    add("--allow-writes", action="store_true", help="allow writes to a host other than this machine")
    add("--read-only", action="store_true", help="write nothing; judge only what reads show")
    add("--watch", action="store_true", help="judge again whenever the server has restarted, or on Enter")
    add("--plan", action="store_true", help="show what a run would do, and send nothing")
    add("--resources", type=_names, default=(), metavar="NAME,...", help="resources to judge (default: all)")
    add(
        "--rules",
        type=_names,
        default=(),
        metavar="PATTERN,...",
        help="rules to judge, such as 'pagination.*' (default: all)",
    )
    add("--strict", action="store_true", help="let advisory rules fail the run")
    add("--public-base-url", type=base_url, metavar="URL", help="what page links begin with, if not with the base URL")
    add("--splash-create-path", metavar="PATH", help="path that creates splash pages, if not the documented one")
    _add_measures(add)
    _add_files(add)


def _add_measures(add: Add) -> None:
    add("--jobs", type=_number, default=3, metavar="N", help="visit N resources side by side (default: %(default)s)")
    add("--max-failures", type=_number, metavar="N", help="stop once N results have failed")
    add("--max-requests", type=_number, metavar="N", help="never send more than N requests")
    add("--deadline", type=_duration, metavar="10m", help="stop after this time, clean-up aside")
    add(
        "--explore",
        type=_count,
        default=360,
        metavar="N",
        help="generate about N further requests (default: %(default)s)",
    )
    add(
        "--overlap",
        type=_count,
        default=0,
        metavar="N",
        help="send N rounds of requests that overlap, and judge concurrency.* (default: none)",
    )
    add("--seed", type=_count, default=0, metavar="N", help="seed of the generated requests (default: %(default)s)")
    add(
        "--lag",
        type=_seconds,
        default=2.1,
        metavar="SECONDS",
        help="how long reads may lag behind writes (default: %(default)s)",
    )


def _add_files(add: Add) -> None:
    add(
        "--ledger",
        type=Path,
        metavar="FILE",
        help="note here what the run creates (default: a file in your state folder)",
    )
    add("--waivers", type=Path, metavar="FILE", help="failures that are known and allowed for a while")
    add("--write-waivers", type=Path, metavar="FILE", help="write a waivers file for what fails now")
    add("--baseline", type=Path, metavar="RESULTS", help="fail only if a verdict is worse than in these results")
    add("--report-dir", type=_folder, metavar="DIR", help="write reports to this folder")
    add("--quiet", action="store_true", help="print only the verdict")
    add("--verbose", action="store_true", help="print also the areas, the server's choices and all that was not judged")


def add_judge(add: Add) -> None:
    """Add the options of `contract-tests judge`."""
    add("file", type=Path, metavar="FILE", help="an HTTP archive: a browser's, a proxy's or a run's record.har")
    add("--base-url", type=base_url, metavar="URL", help="which service to judge (default: that of most requests)")
    add("--public-base-url", type=base_url, metavar="URL", help="what page links begin with, if not with the base URL")
    add("--strict", action="store_true", help="let advisory rules fail")
    add("--verbose", action="store_true", help="print also the areas and the server's choices")


def add_compare(add: Add) -> None:
    """Add the options of `contract-tests compare`."""
    add("results", type=Path, nargs="+", metavar="RESULTS", help="results.json of a run, or the folder it is in")
    add("--baseline", type=Path, metavar="RESULTS", help="compare with this run, and fail only if a verdict is worse")
    add("--all", action="store_true", help="show what is the same as well")
    add("--json", type=Path, metavar="FILE", help="write the comparison to this file")
    add("--html", type=Path, metavar="FILE", help="write the comparison as a page")


def add_cleanup(add: Add) -> None:
    """Add the options of `contract-tests cleanup`."""
    add("ledger", type=Path, metavar="LEDGER", help="ledger of the interrupted run")
    add("--base-url", type=base_url, metavar="URL", help="where it answers, if the ledger does not say so any more")
    add_target(add)


def add_target(add: Add) -> None:
    """Add the options that describe how to reach a target."""
    add("--api-key", metavar="KEY", help="key of the account; better in $CONTRACT_API_KEY")
    add("--second-api-key", metavar="KEY", help="key of another account; better in $CONTRACT_SECOND_API_KEY")
    add(
        "--rate",
        type=_rate,
        default=0.0,
        metavar="60/m",
        help="send at most this many requests a second, minute or hour",
    )
    add("--timeout", type=_number, default=30, metavar="SECONDS", help="time for a whole answer (default: %(default)s)")
    add(
        "--header",
        type=_header,
        action="append",
        default=[],
        metavar="'NAME: VALUE'",
        help="send this header with each request",
    )
    add(
        "--ca-bundle",
        type=Path,
        metavar="FILE",
        help="certificate authorities to trust, as PEM (default: the system's)",
    )
    add("--insecure", action="store_true", help="trust any certificate")
    add("--client-cert", type=Path, metavar="FILE", help="client certificate, as PEM")
    add("--client-key", type=Path, metavar="FILE", help="key of the client certificate, if in a file of its own")


def base_url(text: str) -> str:
    """The text, if it is a base URL.

    Raises:
        argparse.ArgumentTypeError: if it is not.
    """
    try:
        parts = urlsplit(text)
        plain = not (parts.query or parts.fragment or "@" in parts.netloc or re.search(r"[^!-~]", text))
        fits = parts.scheme in ("http", "https") and parts.hostname and plain and parts.port != 0
    except ValueError:
        fits = False
    if not fits:
        raise argparse.ArgumentTypeError(f'"{text}" is no base URL; give one such as https://links.example.com/prefix')
    return text


def _folder(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("a folder is to be named; give . for the one that you are in")
    return Path(text)


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _number(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f'"{text}" is no number; give 1 or more')
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= LONGEST_LAG:
        raise argparse.ArgumentTypeError(f'"{text}" is no lag; give seconds from 0 to {LONGEST_LAG}')
    return seconds


def _count(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f'"{text}" is no number; give 0 or more')
    return int(text)


def _rate(text: str) -> float:
    found = re.fullmatch(r"([1-9]\d*)/([smh])", text)
    if not found:
        raise argparse.ArgumentTypeError(f'"{text}" is no rate; give one such as 60/m')
    return SECONDS[found[2]] / int(found[1])


def _duration(text: str) -> float:
    found = re.fullmatch(r"([1-9]\d*)([smh])", text)
    if not found:
        raise argparse.ArgumentTypeError(f'"{text}" is no time; give one such as 90s or 10m')
    return int(found[1]) * SECONDS[found[2]]


def _header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not re.fullmatch(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+", name) or not value.strip().isprintable():
        raise argparse.ArgumentTypeError("a header is given as 'NAME: VALUE'")
    if not value.strip().isascii():
        raise argparse.ArgumentTypeError(f"the header {name} holds letters beyond ASCII; write them in another way")
    if name.casefold() in ("content-type", "content-length", "transfer-encoding"):
        raise argparse.ArgumentTypeError(f"{name} is about the body of each request, and is the run's own to send")
    if name.casefold() == "authorization":
        raise argparse.ArgumentTypeError("Authorization holds the API key; give that with --api-key")
    return name, value.strip()
