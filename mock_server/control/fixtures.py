"""What the accounts of a mock instance start with, and snapshots of what they hold."""

from collections.abc import Mapping
from dataclasses import replace
from sys import getsizeof
from typing import Any

from mock_server.api.operations import MockState
from mock_server.control.backend import MAX_SNAPSHOT_BYTES, MAX_SNAPSHOTS, Backend, mock_of
from mock_server.errors import SettingsError
from mock_server.settings.documents import read_document, write_document
from mock_server.store.accounts import MemoryAccount, MemoryAccounts
from mock_server.store.fixture_format import fixture_of, size_of_fixture
from mock_server.store.fixtures import SHIPPED, FixtureReader
from mock_server.store.records import MemoryUploads, Uploads

OWN_KEY = "the-account-itself"  # the key of the account that a fixture is for, which may be a sandbox


class Fixtures:
    """Fixtures for the accounts of an instance, and of them.

    Attributes:
        snapshots: fixtures by name, as YAML.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend, self.snapshots = backend, backend.snapshots

    @property
    def _mock(self) -> MockState:
        return mock_of(self._backend.app)

    def template(self, source: Any, key: str) -> MemoryAccount | None:
        """The account that another starts as; None if it starts as it did first.

        Args:
            source: an object, as `Instance.reset_account` takes it.
            key: of the account that starts again.

        Raises:
            SettingsError: if the object is invalid.
        """
        fixture = self._read(source)
        if fixture is None:
            return None
        accounts = self._accounts_in(_renamed(fixture, key), self._mock.forms.uploads)
        own_key = next((name for name in (OWN_KEY, key) if name in accounts.keys), next(iter(accounts.keys)))
        return accounts.get(own_key)

    def _read(self, source: Any) -> Any:
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
        mock = self._mock
        settings = replace(self._backend.settings, fixture=fixture, records=0, api_keys=())
        reader = FixtureReader(mock.contract.resources.values(), mock.new_records, uploads)
        return MemoryAccounts(settings, mock.contract, mock.choices, reader)

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
        too_large = SettingsError(f"snapshots would take over {MAX_SNAPSHOT_BYTES >> 20} MiB together; delete one")
        free = MAX_SNAPSHOT_BYTES - sum(getsizeof(text) for other, text in self.snapshots.items() if other != name)
        if fixture is None and size_of_fixture(self._mock.accounts) > free:
            raise too_large
        document = write_document(self.current() if fixture is None else fixture)
        if getsizeof(document) > free:
            raise too_large
        self.snapshots[name] = document

    def current(self) -> dict[str, Any]:
        """A fixture of what the accounts hold; sandboxes are not in it."""
        mock = self._mock
        return fixture_of(mock.accounts, mock.contract.resources.values(), mock.forms.uploads)


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
