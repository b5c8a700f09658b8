"""The tables of openapi.yaml that the suite judges by."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[1]


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule of the contract.

    Attributes:
        id: its permanent name, `area.slug`.
        level: `stated`, `implied` or `advisory`.
        kind: `exchange` if one answer is enough to judge it, `state` if several are needed.
        section: the heading of the specification that it stands under.
        numbers: the statements of the specification that it covers.
        resources: the kinds of record that it speaks of.
    """

    id: str
    level: str
    kind: str
    section: str
    statement: str
    numbers: tuple[int | str, ...]
    resources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OpenPoint:
    """A freedom of the specification, with the values known to occur and what each means."""

    id: str
    section: str
    statement: str
    numbers: tuple[int | str, ...]
    values: dict[str, str]
    default: str


class Contract:
    """openapi.yaml, as the suite needs it."""

    def __init__(self, path: Path | None = None) -> None:
        installed = ROOT / "link_management_contract" / "openapi.yaml"
        self.path = path or (installed if installed.exists() else ROOT / "openapi.yaml")
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self.document: dict[str, Any] = yaml.load(self.path.read_text(encoding="utf-8"), Loader=loader)  # noqa: S506 - safe
        kinds = [tag["name"] for tag in self.document["tags"]]
        self.rules = {entry["id"]: _rule(entry, kinds) for entry in self.document["x-rules"]}
        self.open_points = {
            entry["id"]: OpenPoint(**entry | {"numbers": tuple(entry["numbers"])})
            for entry in self.document["x-open-points"]
        }


def _rule(entry: dict[str, Any], kinds: list[str]) -> Rule:
    resources = tuple(entry.get("resources", kinds))
    return Rule(**entry | {"numbers": tuple(entry["numbers"]), "resources": resources})
