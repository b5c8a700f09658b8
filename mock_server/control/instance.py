"""A mock that can be changed while it runs: reset, switched, saved as a snapshot and restored."""

import re
import threading
from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from dataclasses import replace
from sys import getsizeof
from typing import Any, NoReturn
from wsgiref.types import StartResponse, WSGIEnvironment

from mock_server.api.operations import MockState
from mock_server.app import contract_of, create_app
from mock_server.effects.effect import Effect, Effects, EffectStore, MemoryEffects
from mock_server.errors import SettingsError
from mock_server.forwarding.recording import Callers, FixtureRecording
from mock_server.http.context import key_of
from mock_server.journal.exports import archive
from mock_server.journal.journal import Entry, Journal, MemoryJournal
from mock_server.journal.recorder import JournalWriter, Recording
from mock_server.journal.remarks import Remarks
from mock_server.options import SWITCHES
from mock_server.settings.documents import read_document, write_document
from mock_server.settings.settings import Settings
from mock_server.store.accounts import MemoryAccounts
from mock_server.store.fixture_format import fixture_of, size_of_fixture
from mock_server.store.fixtures import SHIPPED, FixtureReader
from mock_server.store.protocols import Account
from mock_server.store.records import MemoryUploads, Uploads

MAX_RECORDS = 100_000


def read_switches(values: Any, *, at_the_start: bool = True) -> dict[str, Any]:
    """Read settings from switches.

    Args:
        values: the switches, as an object.
        at_the_start: whether switches for what a mock begins with are allowed.

    Raises:
        SettingsError: if a switch is unknown, or its value is invalid.
    """
    allowed = {name: switch for name, switch in SWITCHES.items() if at_the_start or not switch.is_for_the_start}
    if not isinstance(values, Mapping):
        raise SettingsError(f"expected an object with any of {', '.join(allowed)}")
    for name, value in values.items():
        if name not in allowed:
            raise SettingsError(f'no switch "{name}"; switches are {", ".join(allowed)}')
        if not isinstance(value, allowed[name].switch) or (
            isinstance(value, bool) and allowed[name].switch is not bool
        ):
            raise SettingsError(f'the switch "{name}" is {value!r}; expected {_json_type_name(allowed[name].switch)}')
    texts = [*values.get("defects", ()), *values.get("open", {}).values()]
    if not all(isinstance(text, str) for text in texts):
        raise SettingsError("the names of defects and the values of open points are texts")
    if values.get("records", 0) > MAX_RECORDS:
        raise SettingsError(f"records is {values['records']}; a reset takes {MAX_RECORDS:,} at most")
    if values.get("fixture", "demo") not in ("demo", "empty"):
        raise SettingsError(f'no fixture "{values["fixture"]}"; a reset takes demo or empty')
    return {allowed[name].setting: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


def switch_values(settings: Settings) -> dict[str, Any]:
    state = {name: getattr(settings, switch.setting) for name, switch in SWITCHES.items()}
    return state | {"open": dict(state["open"]), "fixture": str(state["fixture"])}


def _json_type_name(kind: Any) -> str:
    names = {dict: "an object", list: "an array", str: "a text", bool: "true or false", int: "a whole number"}
    return names.get(kind, "a whole number or null")


OWN_KEY = "the-account-itself"  # the key of the account that a fixture is for, which may be a sandbox
MAX_UNKNOWN_BODY = 16 * 2**10  # bytes of a body
ACCOUNT = re.compile(r"account \d+|another account|.*[*?\[].*|")  # how accounts of a deployment are called
MAX_SNAPSHOTS, MAX_SNAPSHOT_BYTES = 20, 64 * 2**20


class Instance:
    """A running mock.

    Args:
        settings: the settings it starts with.

    Attributes:
        settings: its present settings.
        journal: the latest requests.
        remarks: makes the remarks about requests.
        effects: what is forced on requests.
        snapshots: fixtures by name, as YAML.
        journal_writer: keeps requests that are forwarded to a deployment.
        fixture_recording: what a deployment's lists and reads have shown, if that is recorded.
    """

    def __init__(self, settings: Settings) -> None:
        self._start = self.settings = settings
        contract = contract_of(settings)
        self.journal, effect_store, self.snapshots = self._create_stores()
        self.effects = Effects(contract.resources.values(), settings, effect_store)
        self._lock = threading.Lock()
        self.remarks = Remarks(contract, settings.base_path, settings.ignore_remarks)
        self._callers = Callers()
        self.journal_writer = JournalWriter(self._recorder_parts, self._callers.name_of)
        is_recorded = settings.deployment is not None and settings.deployment.is_recorded
        self.fixture_recording = FixtureRecording(contract, settings.base_path) if is_recorded else None
        self._replace_app(settings)

    def _create_stores(self) -> tuple[Journal, EffectStore, MutableMapping[str, str]]:
        return MemoryJournal(self.settings.journal), MemoryEffects(), {}

    def follow(self) -> None:
        """Take over what other processes have changed; in memory, there are none."""

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        return self.app(environ, start_response)

    @staticmethod
    def is_control(_: WSGIEnvironment) -> bool:
        """Whether a request is for a control plane; a mock alone has none."""
        return False

    def body_limit(self, environ: WSGIEnvironment) -> int:
        """How long the body of a request may be, in bytes; without an account, it has to be short."""
        key = key_of(environ)
        is_known = bool(key) if self.settings.deployment else self.mock.accounts.knows(key)
        return self.settings.max_body if is_known else min(MAX_UNKNOWN_BODY, self.settings.max_body)

    @property
    def mock(self) -> MockState:
        mock: MockState = self.app.extensions["mock_server"]
        return mock

    def reset(self, **switches: Any) -> None:
        """Start again, with these switches instead of the initial ones.

        Raises:
            SettingsError: if a switch is invalid; nothing changes then.
        """
        with self._lock:
            settings = replace(self._start, **switches)
            self._replace_app(settings)
            self.effects.remove()
            self._forget()

    def reset_account(self, key: str, source: Any = None) -> Account:
        """Let one account start again; the others, switches and snapshots stay as they are.

        Args:
            key: its key, which may be one of a sandbox that is not there yet.
            source: an object with `records` (by resource, as in a fixture), which the account then holds, or with
                `fixture` (a name, or what a fixture file holds) or `snapshot` (a name): the account then holds what
                there the account with its key holds, or else the first. None to hold what it did first.

        Raises:
            SettingsError: if that is invalid; nothing changes then.
        """
        fixture, template = self._fixture_given(source or {}), None
        with self._lock:
            if fixture is not None:
                accounts = self._accounts_in(_renamed(fixture, key), self.mock.forms.uploads)
                own_key = next((name for name in (OWN_KEY, key) if name in accounts.keys), next(iter(accounts.keys)))
                template = accounts.get(own_key)
            account = self.mock.accounts.start_again(key, template)
            self.effects.remove_of(account.name)
            self._forget(account.name)
            if "lag" in self.settings.conditions:  # whose replica has the account as it was
                self._replace_app(self.settings, self.mock)
        return account

    def _forget(self, account: str | None = None) -> None:
        """Forget what an account, or any, is known for."""
        self.remarks.forget(account)

    def _fixture_given(self, source: Any) -> Any:
        """The fixture that an object names or holds, or None."""
        if not isinstance(source, dict) or set(source) - {"records", "fixture", "snapshot"} or len(source) > 1:
            raise SettingsError('expected an object with "records", "fixture" or "snapshot", or none at all')
        if "records" in source:
            return {"accounts": [{"name": "this account", "api_key": OWN_KEY, "records": source["records"]}]}
        if "snapshot" in source:
            name = source["snapshot"]
            if not isinstance(name, str) or name not in self.snapshots:
                raise SettingsError(f'there is no snapshot "{name}"; there are: {", ".join(self.snapshots) or "none"}')
            return read_document(self.snapshots[name])
        fixture = source.get("fixture")
        if fixture is not None and not isinstance(fixture, dict) and fixture not in SHIPPED:
            raise SettingsError(f"no fixture {fixture!r}; give {', '.join(SHIPPED)}, or what a fixture file holds")
        return fixture

    def _accounts_in(self, fixture: Any, uploads: Uploads) -> MemoryAccounts:
        """The accounts that a fixture describes."""
        mock = self.mock
        settings = replace(self.settings, fixture=fixture, records=0, api_keys=())
        reader = FixtureReader(mock.contract.resources.values(), mock.new_records, uploads)
        return MemoryAccounts(settings, mock.contract, mock.choices, reader)

    def reload(self) -> None:
        """Read the fixture again and start with it, under the present switches.

        Raises:
            SettingsError: if it cannot be used; nothing changes then.
        """
        with self._lock:
            self._replace_app(self.settings)
            self._forget()

    def change_switches(self, **switches: Any) -> None:
        """Change switches, and keep all records.

        Raises:
            SettingsError: if a switch is invalid; nothing changes then.
        """
        with self._lock:
            settings = replace(self.settings, **switches)
            self._replace_app(settings, self.mock)

    def force(self, description: Any) -> Effect:
        """Add an effect; the account may also be given by its key.

        Raises:
            SettingsError: if it is invalid.
        """
        if isinstance(description, dict) and isinstance(description.get("account"), str):
            description = description | {"account": self.account_named(description["account"])}
        return self.effects.add(description)

    def expect_mistakes(self, key: str, patterns: Sequence[str]) -> None:
        """Say which mistakes of an account, by its name or its key, are meant.

        Raises:
            SettingsError: if a pattern matches no rule.
        """
        self.remarks.expect(self.account_named(key), patterns)

    def account_named(self, name: str) -> str:
        """The name of an account, given by its name or its key."""
        if self.settings.deployment:
            return name if ACCOUNT.fullmatch(name) else self._callers.name_of(name)
        return self.mock.accounts.keys.get(name, name)

    def clear_journal(self) -> None:
        """Forget all requests, and what later remarks would build on."""
        self.journal.clear()
        self.remarks.forget()

    def archive(self, scheme: str = "http") -> str:
        """The journal as an HTTP archive, under the base URL of the service that answered.

        Args:
            scheme: of the mock's own address.
        """
        settings = self.settings
        fixed_url = settings.deployment.url if settings.deployment else settings.public_base_url

        def base_url(entry: Entry) -> str:  # where the client sent it, because page links begin with that
            return fixed_url or f"{scheme}://{entry.headers.get('Host', '')}{settings.base_path}"

        return archive(self.journal.exchanges, base_url, settings.base_path)

    def keep(self, name: str, fixture: Mapping[str, Any] | None = None) -> None:
        """Keep a snapshot of what the accounts hold, or a fixture, under a name.

        Raises:
            SettingsError: if there are too many snapshots, or the fixture is invalid.
        """
        if name in (".", "..") or "/" in name:
            raise SettingsError(f'"{name}" cannot be the name of a snapshot; give one without slashes')
        if name not in self.snapshots and len(self.snapshots) >= MAX_SNAPSHOTS:
            raise SettingsError(f"there are {MAX_SNAPSHOTS} snapshots already; delete one")
        if fixture is not None:
            self._accounts_in(fixture, MemoryUploads())  # only to see that it is valid
        free = MAX_SNAPSHOT_BYTES - sum(getsizeof(text) for other, text in self.snapshots.items() if other != name)
        if fixture is None and size_of_fixture(self.mock.accounts) > free:
            self._refuse_snapshot()
        document = write_document(self.fixture() if fixture is None else fixture)
        if getsizeof(document) > free:
            self._refuse_snapshot()
        self.snapshots[name] = document

    def fixture(self) -> dict[str, Any]:
        """A fixture of what the accounts hold; sandboxes are not in it."""
        mock = self.mock
        return fixture_of(mock.accounts, mock.contract.resources.values(), mock.forms.uploads)

    @staticmethod
    def _refuse_snapshot() -> NoReturn:
        raise SettingsError(f"snapshots would take over {MAX_SNAPSHOT_BYTES >> 20} MiB together; delete one")

    def restore(self, name: str) -> None:
        """Restore a snapshot; switches stay as they are, and sandboxes start again.

        Raises:
            KeyError: if there is no snapshot with this name.
        """
        with self._lock:
            self._replace_app(
                self._with_fixture(self.settings, read_document(self.snapshots[name])), switched=self.settings
            )
            self._forget()

    @staticmethod
    def _with_fixture(settings: Settings, fixture: Mapping[str, Any]) -> Settings:
        return replace(settings, fixture=fixture, records=0, api_keys=(), store=None)

    def _replace_app(
        self, settings: Settings, before: MockState | None = None, *, switched: Settings | None = None
    ) -> None:
        """Replace the application.

        Args:
            settings: what the accounts start with, and the switches.
            before: the service whose accounts are taken over instead.
            switched: the settings to tell and to change further, if they are others.
        """
        self.app = create_app(settings, before, self._recorder_parts)
        self.settings = switched or settings

    @property
    def _recorder_parts(self) -> Recording:
        return Recording(self.journal, self.remarks, self.effects)


def _renamed(fixture: Any, key: str) -> Any:
    """The fixture, with another key for the account whose key this is, which may be one of a sandbox."""
    accounts = fixture.get("accounts") if isinstance(fixture, dict) else None
    if not isinstance(accounts, list):
        return fixture
    renamed_accounts = [
        {**account, "api_key": OWN_KEY} if isinstance(account, dict) and account.get("api_key") == key else account
        for account in accounts
    ]
    return {**fixture, "accounts": renamed_accounts}
