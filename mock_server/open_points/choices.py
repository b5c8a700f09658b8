"""What the mock chooses where the specification leaves room."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches

from link_management_contract import OpenPoint
from mock_server.errors import SettingsError
from mock_server.open_points.grease import greased


class Choices(dict[str, str]):
    """A value for every open point, by the point's name without `open.`.

    Args:
        points: the open points of the contract.
        chosen: values other than the defaults.
        grease: the seed of all values that are not chosen; if None, they are the defaults.

    Raises:
        SettingsError: if a point or value is unknown.
    """

    def __init__(self, points: Mapping[str, OpenPoint], chosen: Mapping[str, str], grease: int | None = None) -> None:
        defaults = {name: point.default for name, point in points.items()}
        super().__init__(defaults if grease is None else greased(points, grease))
        for name, value in ((key.removeprefix("open."), value) for key, value in chosen.items()):
            if name not in points:
                raise SettingsError(f'no open point "{name}"; {_hint(name, points)}')
            if value not in points[name].values:
                known = ", ".join(points[name].values)
                raise SettingsError(f'open point "{name}" has no value "{value}"; it takes {known}')
            self[name] = value


def _hint(name: str, points: Mapping[str, OpenPoint]) -> str:
    near = get_close_matches(name, points, n=3, cutoff=0.5)
    return f"did you mean {' or '.join(near)}?" if near else "`mock-server list open` names them all"
