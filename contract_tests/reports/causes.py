"""Findings in the order in which to mend them, each under its likeliest cause; and what a failure left unjudged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from contract_tests.run.verdicts import VIOLATED, Verdict

Result = Mapping[str, Any]  # as results.json holds it
FIRST = ("accounts.bearer-*", "operations.*", "envelopes.*", "accounts.*")
ON_WRITES = ("forms.*", "lifecycle.*", "envelopes.create-*", "envelopes.update-*", "pagination.total-follows-*")
NUMBERS = (
    "pagination.total-*",
    "pagination.last-*",
    "pagination.next-*",
    "pagination.prev-*",
    "pagination.neighbours-*",
)
LINKS = ("pagination.links-*", "pagination.*-names-*", "pagination.*-is-null-*", "pagination.neighbours-*")
ON_LISTS = ("pagination.*", "lifecycle.*", "envelopes.list-*")
STORED = (
    "forms.*-comes-back",
    "forms.*-stays-apart",
    "forms.*-settings",
    "forms.client-*",
    "forms.*ables",
    "lifecycle.update-*",
)
LEADS_TO: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("accounts.bearer-key-is-accepted", ("*",)),
    ("operations.list-answers", (*ON_LISTS, "representations.*", "operations.*")),
    ("operations.create-answers", ON_WRITES),
    ("operations.read-answers", ("lifecycle.*", "envelopes.read-*", "forms.*-comes-back", "representations.*")),
    ("operations.update-answers", (*STORED, "forms.*-update", "envelopes.update-*")),
    ("accounts.other-account-*", ("accounts.other-account-*",)),
    ("accounts.strangers-*", ("accounts.strangers-*",)),
    ("operations.delete-answers", ("lifecycle.delete*", "pagination.total-follows-deletes")),
    ("operations.splash-*", ("lifecycle.created-*", "operations.read-answers")),
    ("operations.writes-not-redirected", (*ON_WRITES, "operations.*")),
    ("envelopes.body-is-json", ("envelopes.*", "representations.*", *ON_LISTS)),
    ("envelopes.list-data-*", (*ON_LISTS, "representations.*")),
    ("envelopes.list-meta-*", (*NUMBERS, "pagination.*meta*", "pagination.size-*", "pagination.page-*")),
    ("envelopes.list-links-*", LINKS),
    ("envelopes.list-neighbours-*", LINKS),
    ("envelopes.read-*", ("lifecycle.created-record-is-read", "representations.*")),
    ("envelopes.create-*", ("lifecycle.created-*",)),
    ("representations.fields-*", ("representations.*", "forms.*-comes-back")),
    ("lifecycle.update-changes-*", STORED),
    ("lifecycle.deleted-record-is-not-read", ("lifecycle.deleted-*", "pagination.total-follows-deletes")),
    ("lifecycle.deleted-record-is-not-listed", ("lifecycle.deleted-*", "pagination.total-follows-deletes")),
    ("lifecycle.created-record-is-listed-once", ("pagination.total-*", "pagination.pages-*")),
    ("pagination.total-counts-*", NUMBERS),
    ("pagination.total-pages-*", NUMBERS),
    ("pagination.size-defaults-*", ("pagination.pages-*", "pagination.order-*", "pagination.page-*")),
    ("pagination.allowed-sizes-*", ("pagination.pages-*", "pagination.order-*", "pagination.page-*")),
    ("pagination.page-is-filled", ("pagination.pages-*", "pagination.order-*", "pagination.allowed-*")),
    ("pagination.links-have-*", LINKS),
)


@dataclass
class Group:
    """A rule that is violated, with its results by resource, and the results that follow from it.

    Attributes:
        results: those of the rule, one for each resource where it is violated.
        follows: those of other rules whose violation this one explains.
    """

    results: list[Result]
    follows: list[Result] = field(default_factory=list)

    @property
    def rule(self) -> str:
        """The rule's id."""
        return str(self.results[0]["rule"])


def groups(results: Sequence[Result]) -> list[Group]:
    """What was found, in the order in which to mend it: failures first, then warnings and what is waived."""
    by_rule: dict[str, list[Result]] = {}
    for result in sorted((each for each in results if each["verdict"] in VIOLATED), key=_order):
        by_rule.setdefault(result["rule"], []).append(result)
    found: list[Group] = []
    for same in by_rule.values():
        rest = list(same)
        for group in found:
            explained = [each for each in rest if _explains(group, each)]
            group.follows += explained
            rest = [each for each in rest if each not in explained]
        if rest:
            found.append(Group(rest))
    return found


def _order(result: Result) -> tuple[bool, bool, int, int]:
    area = _place(result["rule"], FIRST)
    leading = _place(result["rule"], [rule for rule, _ in LEADS_TO])
    return bool(result["waived"]), result["verdict"] != Verdict.FAIL, area, leading


def _place(rule: str, patterns: Sequence[str]) -> int:
    """The number of the first pattern that a rule matches."""
    return next((number for number, each in enumerate(patterns) if fnmatchcase(rule, each)), len(patterns))


def _explains(group: Group, result: Result) -> bool:
    """Whether a group's rule is the cause: it leads there, or the same place of the same answer breaks it."""
    for cause in group.results:
        if cause["kind"] == result["kind"] and bool(cause["waived"]) == bool(result["waived"]):
            leads = (to for rule, to in LEADS_TO if fnmatchcase(cause["rule"], rule))
            if any(fnmatchcase(result["rule"], pattern) for to in leads for pattern in to):
                return True
            one, other = cause["findings"][0], result["findings"][0]
            same = (one["exchange"], one.get("at")) == (other["exchange"], other.get("at"))
            if same or (cause["rule"].startswith("operations.") and _trouble(one) == _trouble(other) != ""):
                return True
    return False


def _trouble(finding: Mapping[str, Any]) -> str:
    """The method and status of an answer that is no success; empty for others."""
    status = finding.get("answered", "").partition(",")[0]
    return "" if status.startswith("status 2") else f"{finding.get('sent', '').partition(' ')[0]} {status}".strip()


def undecided(results: Sequence[Result], found: Sequence[Group]) -> dict[str, list[Result]]:
    """What could not be judged, by the failure that is in the way or, without one, by the reason."""
    in_the_way = [
        each
        for group in found
        for each in group.results
        if fnmatchcase(each["rule"], "accounts.bearer-*") or each["rule"].startswith(("operations.", "envelopes."))
    ]
    told: dict[str, list[Result]] = {}
    for result in results:
        if result["verdict"] == Verdict.INCONCLUSIVE:
            cause = next((each["rule"] for each in in_the_way if each["kind"] == result["kind"]), "")
            why = f"{cause} fails" if cause and not result["findings"] else "; ".join(result["reasons"])
            told.setdefault(why, []).append(result)
    return dict(sorted(told.items(), key=lambda each: -len(each[1])))
