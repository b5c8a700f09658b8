"""The switches of a running mock, as its control plane reads and shows them."""

from collections.abc import Mapping
from typing import Any

from mock_server.errors import SettingsError
from mock_server.options import SWITCHES
from mock_server.settings.settings import Settings

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
