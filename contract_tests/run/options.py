"""The options of a run, and how they are read from a command line."""

from __future__ import annotations

import argparse
import os
import re
from dataclasses import dataclass, field, replace
from urllib.parse import urlsplit

from contract_tests.errors import UsageError
from contract_tests.run import waivers
from contract_tests.target.connection import Connection, is_loopback
from contract_tests.target.limits import Limits

REQUESTS_OF_A_ROUND = 300  # of each kind of round, for each resource


@dataclass(frozen=True)
class Options:
    """The options of a run.

    Attributes:
        base_url: where the implementation answers, without a slash at the end.
        api_key: the key of the account that is used.
        second_api_key: the key of another account, or None.
        resources: the resources to judge.
        rules: patterns of the ids of rules to judge, such as `pagination.*`.
        public_base_url: what page links must begin with, if not the base URL.
        splash_create_path: where splash pages are created, if not at the documented path.
        strict: whether advisory rules can fail the run.
        limits: how hard the target may be pushed.
        connection: how the target is reached.
        jobs: how many resources are visited side by side.
        max_failures: after how many failing results the run stops, or None.
        explore: about how many requests to generate besides the survey's.
        overlap: how many rounds of requests that overlap to send.
        seed: the seed that they are generated from.
        waivers: failures that are allowed for a time.
    """

    base_url: str
    api_key: str
    second_api_key: str | None = None
    resources: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()
    public_base_url: str | None = None
    splash_create_path: str | None = None
    strict: bool = False
    limits: Limits = field(default_factory=Limits)
    connection: Connection = field(default_factory=Connection)
    jobs: int = 1
    max_failures: int | None = None
    explore: int = 0
    overlap: int = 0
    seed: int = 0
    waivers: tuple[waivers.Waiver, ...] = ()


def options_of(given: argparse.Namespace) -> Options:
    """Read the options of a run from the command line.

    Raises:
        UsageError: if they are invalid.
    """
    api_key, second = keys_of(given)
    base_url = given.base_url.rstrip("/")
    _refuse_contradictions(given, base_url)
    limits = limits_of(given)
    return Options(
        base_url=base_url,
        api_key=api_key,
        second_api_key=second,
        resources=given.resources,
        rules=given.rules,
        public_base_url=given.public_base_url and given.public_base_url.rstrip("/"),
        splash_create_path=given.splash_create_path,
        strict=given.strict,
        limits=replace(
            limits,
            requests=given.max_requests or limits.requests + 2 * given.explore + given.overlap * REQUESTS_OF_A_ROUND,
            seconds=given.deadline,
            lag=given.lag,
            read_only=given.read_only,
        ),
        connection=connection_of(given),
        jobs=given.jobs,
        max_failures=given.max_failures,
        explore=0 if given.read_only else given.explore,
        overlap=0 if given.read_only else given.overlap,
        seed=given.seed,
        waivers=tuple(waivers.read(given.waivers)) if given.waivers else (),
    )


def _refuse_contradictions(given: argparse.Namespace, base_url: str) -> None:
    if not (given.allow_writes or given.read_only or given.plan or is_loopback(base_url)):
        raise UsageError(
            f"{urlsplit(base_url).hostname} is not this machine, and a run creates, changes and deletes records of"
            " its own there; say --allow-writes if that is meant, --read-only if not, or --plan to see what it would do"
        )
    if given.splash_create_path and not given.splash_create_path.startswith("/"):
        raise UsageError(f'"{given.splash_create_path}" is no path; give one such as /api/splash-pages')
    if given.client_key and not given.client_cert:
        raise UsageError("--client-key goes with --client-cert; give that too")
    if given.write_waivers and given.write_waivers.exists():
        raise UsageError(f"{given.write_waivers} is there already, with its reasons; give another file")
    if given.ca_bundle and not base_url.startswith("https:"):
        raise UsageError(f"--ca-bundle is of no use to {base_url}; give a base URL that begins with https://")
    if given.read_only and given.allow_writes:
        raise UsageError("--read-only and --allow-writes contradict each other; give one of them")


def keys_of(given: argparse.Namespace) -> tuple[str, str | None]:
    """The API keys of the account and, if there is one, of another.

    Raises:
        UsageError: if the first is missing, or both are the same.
    """
    api_key = (given.api_key or os.environ.get("CONTRACT_API_KEY") or "").strip()
    if not api_key:
        raise UsageError("no API key; set CONTRACT_API_KEY or give --api-key")
    second = (given.second_api_key or os.environ.get("CONTRACT_SECOND_API_KEY") or "").strip() or None
    for name, key in (("API key", api_key), ("second API key", second or "")):
        if not re.fullmatch(r"[!-~]*", key):
            raise UsageError(
                f"the {name} holds a space or a letter beyond ASCII; is it the whole key, and nothing else?"
            )
    if second == api_key:
        raise UsageError("the second API key is the first; give one of another account, or none")
    return api_key, second


def limits_of(given: argparse.Namespace) -> Limits:
    """How hard the target may be pushed."""
    return Limits(interval=given.rate, timeout=given.timeout)


def connection_of(given: argparse.Namespace) -> Connection:
    """How the target is reached."""
    return Connection(given.ca_bundle, given.insecure, given.client_cert, given.client_key, dict(given.header))
