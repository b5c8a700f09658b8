"""The settings of a mock server, and which values are valid."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from link_management_contract.texts import shown_url
from mock_server.errors import SettingsError
from mock_server.settings.choices import Clock
from mock_server.settings.documents import read_document

SANDBOX_PREFIX = "sandbox-"
MAX_KEY_LENGTH = 200
KEY = re.compile(f"[!-~]{{1,{MAX_KEY_LENGTH}}}")
PATH = re.compile(r"(/[A-Za-z0-9._~-]+)*")
URL = re.compile(r"https?://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?(/[A-Za-z0-9._~%-]+)*")

MAX_TIMEOUT, SECONDS_TO_ANSWER = 600, 30.0
FORWARDS = "requests are forwarded to {}, which has records and ways of its own"
RECORD_SETTINGS = ("fixture", "records", "api_keys", "choices", "grease", "defects", "extend", "seed", "clock")
ORIGIN = re.compile(r"https?://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?|null")


@dataclass(frozen=True, slots=True, kw_only=True)
class Deployment:
    """A real deployment that requests are forwarded to.

    Attributes:
        url: its base URL, without a slash at the end.
        read_only: whether writes are refused.
        rewrite_links: whether page links are changed so that clients that follow them stay on this server.
        is_recorded: whether what its lists and reads show is kept for a fixture.
        timeout: seconds to wait for a connection, and for each part of an answer.
        ca_bundle: PEM file of the authorities to trust, or None for those of the system.
        insecure: whether any certificate is trusted.
        client_certificate: PEM file of a certificate to show, with its key unless that is in a file of its own.
        client_key: PEM file of that certificate's key, or None.
    """

    url: str
    read_only: bool = False
    rewrite_links: bool = False
    is_recorded: bool = False
    timeout: float = SECONDS_TO_ANSWER
    ca_bundle: Path | None = None
    insecure: bool = False
    client_certificate: Path | None = None
    client_key: Path | None = None

    def __post_init__(self) -> None:
        """Refuse invalid values.

        Raises:
            SettingsError: if there is one; the message names it and what was expected.
        """
        if not URL.fullmatch(self.url):
            expected = "something like https://links.example.com/prefix, without a slash, user or query"
            raise SettingsError(f'invalid base URL "{shown_url(self.url)}" to forward to: expected {expected}')
        try:
            is_port = urlsplit(self.url).port != 0
        except ValueError:
            is_port = False
        if not is_port:
            raise SettingsError(f'"{self.url}" has no valid port; give one from 1 to 65535')
        if not 0 < self.timeout <= MAX_TIMEOUT:
            raise SettingsError(f"the timeout is {self.timeout:g}; give seconds, more than 0 and {MAX_TIMEOUT} at most")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of one mock server.

    Attributes:
        fixture: `demo`, `empty` or the path of a fixture file; or what such a file holds.
        records: how many generated records of each resource the first account has besides the fixture's.
        api_keys: further keys, each of an account that starts as a copy of the fixture's first.
        choices: values of open points other than the defaults, by name.
        grease: the seed of all choices that `choices` does not make; if None, they are the defaults.
        defects: names of defects, each of which breaks a rule.
        extend: a Python file whose function `extend(app)` receives the Flask application, or None.
        conditions: trouble around the server: the measure of each condition by name.
        base_path: a path in front of `/api`, such as `/prefix`.
        cors_origins: the origins whose pages may call the mock, `*` for all; none, if empty.
        public_base_url: what page links begin with; if None, the address that the request was sent to.
        seed: what the colours of records are derived from.
        clock: where times come from; if None, each account has a clock that starts with the fixture and moves on by
            one second with each write.
        sandboxes: how many accounts with `sandbox-` keys are kept; the least recently used goes first.
        journal: how many requests are kept for people and tests to look at; if 0, none, and no remarks are made.
        ignore_remarks: patterns of rules; remarks about them do not count.
        max_body: the longest request body that is read, in bytes.
        contract: an openapi.yaml to use instead of the one that ships with the project, or None.
        deployment: where requests are forwarded to; None for a mock that answers them itself.
        store: the URL of a Redis database for all that it holds, which other mocks with the same settings then share;
            None for this process's memory.
        store_prefix: what the keys in that database begin with.
        store_lifetime: for how many seconds they are kept after the last request, at least; if 0, for ever.
    """

    fixture: str | Path | Mapping[str, Any] = "demo"
    records: int = 0
    api_keys: tuple[str, ...] = ()
    choices: Mapping[str, str] = field(default_factory=dict)
    grease: int | None = None
    defects: tuple[str, ...] = ()
    extend: Path | None = None
    conditions: Mapping[str, float] = field(default_factory=dict)
    base_path: str = ""
    cors_origins: tuple[str, ...] = ("*",)
    public_base_url: str | None = None
    seed: int = 0
    clock: Clock | None = None
    sandboxes: int = 1000
    journal: int = 1000
    ignore_remarks: tuple[str, ...] = ()
    max_body: int = 16 * 2**20
    contract: Path | None = None
    deployment: Deployment | None = None
    store: str | None = None
    store_prefix: str = "mock"
    store_lifetime: int = 0

    def __post_init__(self) -> None:
        """Refuse invalid values.

        Raises:
            SettingsError: if there is one; the message names the setting, its value and what was expected.
        """
        for key in self.api_keys:
            check_key(key)
        if len(set(self.api_keys)) < len(self.api_keys) or isinstance(self.api_keys, str):
            raise SettingsError(f"api_keys is {self.api_keys!r}; give a tuple of keys, each once")
        if not PATH.fullmatch(self.base_path) or self.base_path.partition("/")[2].partition("/")[0] == "_mock":
            raise SettingsError(f'invalid path prefix "{self.base_path}": expected something like /prefix')
        if self.public_base_url is not None and not URL.fullmatch(self.public_base_url):
            expected = "something like https://links.example.com/prefix, without a slash at the end"
            raise SettingsError(f'invalid base URL "{shown_url(self.public_base_url)}": expected {expected}')
        for origin in self.cors_origins:
            if origin != "*" and not ORIGIN.fullmatch(origin):
                expected = "something like http://localhost:5173, without a path"
                raise SettingsError(f'invalid origin "{shown_url(origin)}": expected {expected}')
        for name, minimum in (("records", 0), ("sandboxes", 1), ("journal", 0), ("max_body", 1), ("store_lifetime", 0)):
            if getattr(self, name) < minimum:
                raise SettingsError(f"{name} is {getattr(self, name)}; give {minimum} or more")
        if self.deployment:
            self._refuse_what_needs_records()

    def _refuse_what_needs_records(self) -> None:
        usual = Settings()
        for name in RECORD_SETTINGS:
            if self.deployment and getattr(self, name) != getattr(usual, name):
                raise SettingsError(f"{name} does not apply: {FORWARDS.format(self.deployment.url)}")


def is_sandbox(key: str) -> bool:
    """Whether a key opens a sandbox: a separate account, made when the key is first used."""
    return key.startswith(SANDBOX_PREFIX) and KEY.fullmatch(key) is not None


def check_key(key: str) -> None:
    """Refuse a text that cannot be the key of an account.

    Raises:
        SettingsError: if it cannot; the message says why.
    """
    if not KEY.fullmatch(key) or key.startswith(SANDBOX_PREFIX):
        expected = f"visible ASCII characters, {MAX_KEY_LENGTH} at most, that do not begin with {SANDBOX_PREFIX}"
        raise SettingsError(f'"{key}" cannot be a key; give {expected}')


def read_profile(path: Path) -> dict[str, str]:
    """Choices for open points, as `contract-tests run` writes them: a YAML mapping of names to values.

    Raises:
        SettingsError: if the file cannot be read, or holds something else.
    """
    try:
        choices = read_document(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"the profile {path} cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(choices, dict):
        raise SettingsError(f"the profile {path} is not a mapping of open points to values")
    return {str(name): str(value) for name, value in choices.items()}
