"""The switches of a mock, as the control plane gives and takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mock_server.errors import SettingsError
from mock_server.options import SWITCHES
from mock_server.settings import Settings

MOST_RECORDS = 100_000


def read_switches(given: Any, *, at_the_start: bool = True) -> dict[str, Any]:
    """Read settings from switches.

    Args:
        given: the switches, as an object.
        at_the_start: whether switches for what a mock begins with are allowed.

    Raises:
        SettingsError: if a switch is unknown, or its value is invalid.
    """
    known = {name: each for name, each in SWITCHES.items() if at_the_start or not each.is_for_the_start}
    if not isinstance(given, Mapping):
        raise SettingsError(f"expected an object with any of {', '.join(known)}")
    for name, value in given.items():
        if name not in known:
            raise SettingsError(f'no switch "{name}"; switches are {", ".join(known)}')
        if not isinstance(value, known[name].switch) or (isinstance(value, bool) and known[name].switch is not bool):
            raise SettingsError(f'the switch "{name}" is {value!r}; expected {_named(known[name].switch)}')
    texts = [*given.get("defects", ()), *given.get("open", {}).values()]
    if not all(isinstance(each, str) for each in texts):
        raise SettingsError("the names of defects and the values of open points are texts")
    if given.get("records", 0) > MOST_RECORDS:
        raise SettingsError(f"records is {given['records']}; a reset takes {MOST_RECORDS:,} at most")
    if given.get("fixture", "demo") not in ("demo", "empty"):
        raise SettingsError(f'no fixture "{given["fixture"]}"; a reset takes demo or empty')
    return {known[name].setting: tuple(value) if isinstance(value, list) else value for name, value in given.items()}


def told(settings: Settings) -> dict[str, Any]:
    """The values of all switches in these settings."""
    state = {name: getattr(settings, switch.setting) for name, switch in SWITCHES.items()}
    return state | {"open": dict(state["open"]), "fixture": str(state["fixture"])}


def _named(kind: Any) -> str:
    names = {dict: "an object", list: "an array", str: "a text", bool: "true or false", int: "a whole number"}
    return names.get(kind, "a whole number or null")
