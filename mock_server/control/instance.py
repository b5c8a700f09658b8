"""A mock that can be changed while it runs: reset, switched, saved as a snapshot and restored."""

import re
import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

from flask import Flask

from mock_server.api.operations import MockState
from mock_server.app import contract_of
from mock_server.control.backend import Backend, MemoryBackend, mock_of
from mock_server.control.fixtures import Fixtures
from mock_server.control.shared_backend import SharedBackend
from mock_server.effects.effect import Effect
from mock_server.forwarding.recording import Callers, FixtureRecording
from mock_server.http.context import key_of
from mock_server.journal.exports import archive
from mock_server.journal.journal import Entry
from mock_server.journal.recorder import JournalWriter
from mock_server.settings.documents import read_document
from mock_server.settings.settings import Settings
from mock_server.store.protocols import Account

MAX_UNKNOWN_BODY = 16 * 2**10  # bytes of a body
ACCOUNT = re.compile(r"account \d+|another account|.*[*?\[].*|")  # how accounts of a deployment are called


class Instance:
    """A running mock.

    Args:
        settings: the settings it starts with.

    Attributes:
        backend: answers requests, and keeps what a reset replaces.
        journal: the latest requests.
        remarks: makes the remarks about requests.
        effects: what is forced on requests.
        fixtures: what its accounts start with, and snapshots of what they hold.
        journal_writer: keeps requests that are forwarded to a deployment.
        fixture_recording: what a deployment's lists and reads have shown, if that is recorded.
    """

    def __init__(self, settings: Settings) -> None:
        self._start, self._lock = settings, threading.Lock()
        self.backend: Backend = SharedBackend(settings) if settings.store else MemoryBackend(settings)
        recording = self.backend.recording
        self.journal, self.remarks, self.effects = recording.journal, recording.remarks, recording.effects
        self.follow = self.backend.follow
        self.fixtures = Fixtures(self.backend)
        self._callers = Callers()
        self.journal_writer = JournalWriter(recording, self._callers.name_of)
        is_recorded = settings.deployment is not None and settings.deployment.is_recorded
        self.fixture_recording = FixtureRecording(contract_of(settings), settings.base_path) if is_recorded else None

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        return self.backend(environ, start_response)

    @property
    def settings(self) -> Settings:
        """Its present settings."""
        return self.backend.settings

    @property
    def app(self) -> Flask:
        """The application that answers at present."""
        return self.backend.app

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
        return mock_of(self.app)

    def reset(self, **switches: Any) -> None:
        """Start again, with these switches instead of the initial ones.

        Raises:
            SettingsError: if a switch is invalid; nothing changes then.
        """
        with self._lock:
            settings = replace(self._start, **switches)
            self.backend.replace_app(settings)
            self.effects.remove()
            self.backend.forget()

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
        with self._lock:
            account = self.mock.accounts.start_again(key, self.fixtures.template(source or {}, key))
            self.effects.remove_of(account.name)
            self.backend.forget(account.name)
            if "lag" in self.settings.conditions:  # whose replica has the account as it was
                self.backend.replace_app(self.settings, self.mock)
        return account

    def reload(self) -> None:
        """Read the fixture again and start with it, under the present switches.

        Raises:
            SettingsError: if it cannot be used; nothing changes then.
        """
        with self._lock:
            self.backend.replace_app(self.settings)
            self.backend.forget()

    def change_switches(self, **switches: Any) -> None:
        """Change switches, and keep all records.

        Raises:
            SettingsError: if a switch is invalid; nothing changes then.
        """
        with self._lock:
            settings = replace(self.settings, **switches)
            self.backend.replace_app(settings, self.mock)

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
        self.backend.expect_mistakes(self.account_named(key), patterns)

    def account_named(self, name: str) -> str:
        """The name of an account, given by its name or its key."""
        if self.settings.deployment:
            return name if ACCOUNT.fullmatch(name) else self._callers.name_of(name)
        return self.mock.accounts.keys.get(name, name)

    def clear_journal(self) -> None:
        """Forget all requests, and what later remarks would build on."""
        self.journal.clear()
        self.backend.forget()

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

    def restore(self, name: str) -> None:
        """Restore a snapshot; switches stay as they are, and sandboxes start again.

        Raises:
            KeyError: if there is no snapshot with this name.
        """
        with self._lock:
            fixture = read_document(self.fixtures.snapshots[name])
            settings = replace(self.settings, fixture=fixture, records=0, api_keys=(), store=None)
            self.backend.replace_app(settings, switched=self.settings)
            self.backend.forget()
