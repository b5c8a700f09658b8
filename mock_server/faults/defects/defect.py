"""What a defect is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from werkzeug.wrappers import Response

from link_management_contract import shipped_contract
from mock_server.faults.call import Call, Serve, Transformation

S, D, N = "splash-pages", "domains", "notification-handlers"
RULES, RESOURCES = shipped_contract().rules, shipped_contract().resources
TYPES = RESOURCES[N].fields["type"].values
SHOWN = {"list": "lists", "read": "reads"}


@dataclass(frozen=True)
class Defect:
    """A named way of breaking one rule.

    Attributes:
        name: what is wrong, in a few words.
        rule: the id of the rule that it breaks.
        what: what is wrong, in a sentence.
        transformation: what changes calls or answers in front of the honest server.
        resources: the resources that it affects; if empty, all that the rule covers.
        needs: the values of open points without which it does not show.
    """

    name: str
    rule: str
    what: str
    transformation: Transformation
    resources: tuple[str, ...] = ()
    needs: Mapping[str, str] = field(default_factory=dict)

    @property
    def also(self) -> frozenset[str]:
        """Further rules that a server with this defect may break as well."""
        return frozenset(RULES[self.rule].implies)

    def __call__(self, call: Call, serve: Serve) -> Response:
        """Answer a call, wrongly if the defect affects its resource."""
        if self.resources and call.resource.name not in self.resources:
            return serve(call)
        return self.transformation(call, serve)


Table = Mapping[str, Sequence[Callable[[str], Defect]]]  # the defects of each rule, by the rule's id


def defect(
    name: str, what: str, transformation: Transformation, *resources: str, needs: Mapping[str, str] | None = None
) -> Callable[[str], Defect]:
    """A row of a table: a defect of the rule that it is listed under.

    Args:
        name: what is wrong, in a few words; permanent.
        what: what is wrong, in a sentence.
        transformation: what changes calls or answers in front of the honest server.
        resources: as for `Defect`.
        needs: as for `Defect`.
    """
    return lambda rule: Defect(name, rule, what, transformation, resources, needs or {})


def hyphenated(field: str) -> str:
    """A field's name as names of defects spell it."""
    return field.replace("_", "-")
