"""What a mock instance keeps while the application that answers is replaced; here in the memory of this process."""

from collections.abc import Iterable, MutableMapping, Sequence
from typing import Protocol
from wsgiref.types import StartResponse, WSGIEnvironment

from flask import Flask

from mock_server.api.operations import MockState
from mock_server.app import contract_of, create_app
from mock_server.effects.effect import Effects, EffectStore, MemoryEffects
from mock_server.journal.journal import Journal, MemoryJournal
from mock_server.journal.recorder import Recording
from mock_server.journal.remarks import Remarks
from mock_server.settings.settings import Settings

MAX_SNAPSHOTS, MAX_SNAPSHOT_BYTES = 20, 64 * 2**20


class Backend(Protocol):
    """An application that can be replaced, and what stays.

    Attributes:
        settings: its present settings.
        app: the application that answers.
        recording: what outlives it: the journal, the remarks, what is forced.
        snapshots: fixtures by name, as YAML.
    """

    settings: Settings
    app: Flask
    recording: Recording
    snapshots: MutableMapping[str, str]

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]: ...

    def follow(self) -> None:
        """Take over what other processes have changed."""

    def replace_app(
        self, settings: Settings, before: MockState | None = None, *, switched: Settings | None = None
    ) -> None:
        """Replace the application.

        Args:
            settings: what the accounts start with, and the switches.
            before: the service whose accounts are taken over instead.
            switched: the settings to tell and to change further, if they are others.

        Raises:
            SettingsError: if a setting cannot be used; nothing changes then.
        """

    def expect_mistakes(self, account: str, patterns: Sequence[str]) -> None:
        """Say which mistakes of an account are meant.

        Raises:
            SettingsError: if a pattern matches no rule.
        """

    def forget(self, account: str | None = None) -> None:
        """Forget what an account, or any, is known for."""


class MemoryBackend:
    """A backend that no other process shares."""

    def __init__(self, settings: Settings) -> None:
        self.snapshots: MutableMapping[str, str] = {}
        self.recording = create_recording(settings, MemoryJournal(settings.journal), MemoryEffects())
        self.replace_app(settings)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        return self.app(environ, start_response)

    def follow(self) -> None:
        """There are no others."""

    def replace_app(
        self, settings: Settings, before: MockState | None = None, *, switched: Settings | None = None
    ) -> None:
        self.app = create_app(settings, before, self.recording)
        self.settings = switched or settings

    def expect_mistakes(self, account: str, patterns: Sequence[str]) -> None:
        self.recording.remarks.expect(account, patterns)

    def forget(self, account: str | None = None) -> None:
        self.recording.remarks.forget(account)


def mock_of(app: Flask) -> MockState:
    """What the operations of an application work with."""
    mock: MockState = app.extensions["mock_server"]
    return mock


def create_recording(settings: Settings, journal: Journal, effect_store: EffectStore) -> Recording:
    contract = contract_of(settings)
    return Recording(
        journal,
        Remarks(contract, settings.base_path, settings.ignore_remarks),
        Effects(contract.resources.values(), settings, effect_store),
    )
