"""A backend of mock instances that share all they hold, in a store."""

import json
import threading
import time
from collections.abc import Iterable, MutableMapping, Sequence
from dataclasses import fields, replace
from typing import Any
from wsgiref.types import StartResponse, WSGIEnvironment

from flask import Flask

from mock_server.api.operations import MockState
from mock_server.app import create_app
from mock_server.control.backend import MAX_SNAPSHOT_BYTES, MAX_SNAPSHOTS, create_recording, mock_of
from mock_server.control.switches import read_switches, switch_values
from mock_server.errors import SettingsError
from mock_server.settings.settings import Settings
from mock_server.shared.journal import SharedEffects, SharedJournal, SharedSnapshots
from mock_server.shared.store import Namespace, Store, StoreError

STORE_SETTINGS = ("store", "store_prefix", "store_lifetime")  # settings in which those who share it may differ


class SharedBackend:
    """A backend that several processes share.

    Each request, and each use of the control plane, begins with a look at the head, which says what the others have
    changed: a reset, a switch, a forced answer.

    Args:
        settings: the settings that it starts with; `store` is the URL of the store.
    """

    app: Flask

    def __init__(self, settings: Settings) -> None:
        self._store = Store(settings.store or "", settings.store_prefix, settings.store_lifetime)
        self._followed_head: bytes | None = None
        self._epoch, self._switches, self._ignored_patterns = 0, dict[str, Any](), dict[str, Any]()
        self._following = threading.Lock()
        self._start = self.settings = settings
        self.snapshots: MutableMapping[str, str] = SharedSnapshots(self._store, MAX_SNAPSHOTS, MAX_SNAPSHOT_BYTES)
        self._shared_effects = SharedEffects(self._store)
        self.recording = create_recording(settings, SharedJournal(self._store, settings.journal), self._shared_effects)
        self._join_store()
        self.follow()

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        try:
            self.follow()
            return self.app(environ, start_response)
        except (StoreError, SettingsError) as problem:  # the latter if another mock has begun in the same place
            error = problem if isinstance(problem, StoreError) else StoreError(str(problem))
            answer = json.dumps({"errors": [error.as_dict()]}).encode()
            length = str(len(answer))
            start_response(
                "503 Service Unavailable", [("Content-Type", "application/json"), ("Content-Length", length)]
            )
            return [answer]

    def follow(self) -> None:
        """Take over what other processes have changed.

        Raises:
            StoreError: if the store does not answer.
        """
        raw = self._store.head
        if raw is not None and raw == self._followed_head:
            return self._store.renew()
        with self._following:
            raw = self._store.head  # another thread may have followed meanwhile
            head = self._store.read_head(raw)
            if not head:  # it has expired, or somebody has emptied the store
                return self._join_store()
            if (head["epoch"], head["switches"]) != (self._epoch, self._switches):
                self._take_over(head)
            self._shared_effects.follow(head)
            for account in self._ignored_patterns.keys() - head["meant"].keys():
                self.recording.remarks.forget(account)
            for account, patterns in head["meant"].items():
                self.recording.remarks.expect(account, patterns)
            self._ignored_patterns = head["meant"]
            self._store.heads += 1
            self._followed_head = raw
        return self._store.renew()

    def expect_mistakes(self, account: str, patterns: Sequence[str]) -> None:
        self.recording.remarks.expect(account, patterns)
        self._store.edit(lambda head: head["meant"].update({account: list(patterns)}))

    def forget(self, account: str | None = None) -> None:
        self.recording.remarks.forget(account)
        self._store.edit(lambda head: head["meant"].clear() if account is None else head["meant"].pop(account, None))

    def replace_app(
        self, settings: Settings, before: MockState | None = None, *, switched: Settings | None = None
    ) -> None:
        """Replace the application in all processes."""
        if before:
            app = create_app(settings, before, self.recording, Namespace(self._store, self._epoch))
            changed = _switches(settings, self.settings)
            self._store.edit(lambda head: head["switches"].update(changed))
            self.app = app  # which an extension has changed, if no switch has
        else:
            self._publish(self._load(settings), _switches(switched or settings, self._start))
        self.follow()

    def _join_store(self) -> None:
        """Start with what the store holds already, or else with the fixture."""
        if self._store.head is None:
            epoch, start = self._load(self._start), _told_start(self._start)

            def publish(head: dict[str, Any]) -> bool:
                if head:
                    return False
                head |= {"epoch": epoch, "start": start, "switches": {}, "meant": {}}
                return True

            if not self._store.edit(publish, may_be_missing=True):  # another was faster
                self._store.remove(str(epoch))
        if head := self._store.head:
            self._take_over(self._store.read_head(head))

    def _take_over(self, head: dict[str, Any]) -> None:
        """Answer as the head says."""
        if conflicts := [name for name, value in _told_start(self._start).items() if head["start"].get(name) != value]:
            raise SettingsError(
                f"the store holds a mock whose {conflicts[0]} is {head['start'].get(conflicts[0])}; give the same"
                " options, or another --store-prefix"
            )
        epoch, switches = head["epoch"], head["switches"]
        settings = replace(self._start, **read_switches(switches))
        before = mock_of(self.app) if epoch == self._epoch else None
        self.app = create_app(settings, before, self.recording, Namespace(self._store, epoch))
        if before is None:
            self.recording.remarks.forget()
        self.settings, self._epoch, self._switches = settings, epoch, switches

    def _load(self, settings: Settings) -> int:
        """Put what the mock starts with into a new space; its epoch."""
        epochs = f"{self._store.prefix}:epochs"
        self._store.ask("SET", epochs, str(time.time_ns() // 10**6), "NX")  # none comes twice, even if it expires
        epoch = int(self._store.ask("INCR", epochs))
        try:
            create_app(settings, None, None, Namespace(self._store, epoch, is_empty=True))
        except (SettingsError, StoreError):
            self._store.remove(str(epoch))
            raise
        self._store.keep()
        return epoch

    def _publish(self, epoch: int, switches: dict[str, Any]) -> None:
        """Let all processes use another space; a head that was damaged is replaced."""

        def edit(head: dict[str, Any]) -> int:
            before: int = head.get("epoch", self._epoch)
            head |= {"epoch": epoch, "switches": switches, "meant": head.get("meant", {})}
            head.setdefault("start", _told_start(self._start))
            return before

        self._store.remove(str(self._store.edit(edit, may_be_missing=True)))


def _switches(settings: Settings, base: Settings) -> dict[str, Any]:
    """The switches that settings do not share with others, as JSON has them."""
    values: dict[str, Any] = json.loads(json.dumps(switch_values(settings)))
    return {name: value for name, value in values.items() if value != json.loads(json.dumps(switch_values(base)[name]))}


def _told_start(settings: Settings) -> dict[str, str]:
    """The settings that a mock starts with, for comparison."""
    values = {
        field.name: getattr(settings, field.name) for field in fields(settings) if field.name not in STORE_SETTINGS
    }
    return {name: getattr(value, "__name__", repr(value)) for name, value in values.items()}
