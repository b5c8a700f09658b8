"""Findings in the order in which to fix them, each under its likeliest cause; and what a failure left unjudged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from contract_tests.verdicts import VIOLATED, Verdict
from link_management_contract import shipped_contract

Result = Mapping[str, Any]  # as results.json holds it
LISTS, CREATES = (
    ("operations.list-", "envelopes.list-"),
    ("operations.create-", "operations.splash-", "envelopes.create-"),
)
LABELS = ("forms.name-comes-back", "forms.host-comes-back")  # by which a run knows its records again
LABEL_RULES = (
    "lifecycle.created-record-is-read",
    "lifecycle.create-leaves-other-records",
    "representations.listed-as-read",
)
IN_THE_WAY = ("operations.", "envelopes.", *LABELS)  # what fails here hides whether other rules are satisfied
FIRST = (*LISTS, *CREATES, "operations.", "envelopes.", "accounts.", *LABEL_RULES, *LABELS)
KEY_REFUSED = "accounts.bearer-key-is-accepted"


@dataclass
class CauseGroup:
    """A rule that is violated, with its results by resource, and the results that follow from it.

    Attributes:
        results: those of the rule, one for each resource where it is violated.
        follows: those of other rules whose violation this one explains.
    """

    results: list[Result]
    follows: list[Result] = field(default_factory=list)

    @property
    def rule(self) -> str:
        return str(self.results[0]["rule"])


def groups(results: Sequence[Result]) -> list[CauseGroup]:
    """What was found, in the order in which to fix it: failures first, then warnings and what is waived."""
    by_rule: dict[str, list[Result]] = {}
    for result in sorted((result for result in results if result["verdict"] in VIOLATED), key=_order):
        by_rule.setdefault(result["rule"], []).append(result)
    cause_groups: list[CauseGroup] = []
    for rule_results in by_rule.values():
        unexplained = list(rule_results)
        for group in cause_groups:
            explained = [result for result in unexplained if _explains(group, result)]
            group.follows += explained
            unexplained = [result for result in unexplained if result not in explained]
        if unexplained:
            cause_groups.append(CauseGroup(unexplained))
    return cause_groups


def _order(result: Result) -> tuple[bool, bool, int, int]:
    area = next((index for index, prefix in enumerate(FIRST, 1) if result["rule"].startswith(prefix)), len(FIRST) + 1)
    area = 0 if result["rule"] == KEY_REFUSED else area
    return bool(result["waived"]), result["verdict"] != Verdict.FAIL, area, -len(_implied(result["rule"]))


def _implied(rule: str) -> tuple[str, ...]:
    known_rule = shipped_contract().rules.get(rule)  # results may be of another version
    return known_rule.implies if known_rule else ()


def _explains(group: CauseGroup, result: Result) -> bool:
    """Whether a group's rule is the cause: it implies the other, or the same place of the same answer breaks it."""
    for cause in group.results:
        if cause["kind"] == result["kind"] and bool(cause["waived"]) == bool(result["waived"]):
            if result["rule"] in _implied(cause["rule"]):
                return True
            one, other = cause["findings"][0], result["findings"][0]
            is_same_location = (one["exchange"], one.get("at")) == (other["exchange"], other.get("at"))
            if is_same_location or (cause["rule"].startswith("operations.") and _failed(one) == _failed(other) != ""):
                return True
    return False


def _failed(finding: Mapping[str, Any]) -> str:
    """The method and status of an answer that is not a success; empty for others."""
    status = finding.get("answered", "").partition(",")[0]
    return "" if status.startswith("status 2") else f"{finding.get('sent', '').partition(' ')[0]} {status}".strip()


def undecided(results: Sequence[Result], cause_groups: Sequence[CauseGroup]) -> dict[str, list[Result]]:
    """What could not be judged, by the failure that is in the way or, without one, by the reason."""
    failed = [result for group in cause_groups for result in group.results]
    in_the_way = [result for result in failed if result["rule"].startswith((KEY_REFUSED, *IN_THE_WAY))]
    by_reason: dict[str, list[Result]] = {}
    for result in results:
        if result["verdict"] == Verdict.INCONCLUSIVE:
            cause = next((failure["rule"] for failure in in_the_way if failure["kind"] == result["kind"]), "")
            reason = f"{cause} fails" if cause and not result["findings"] else "; ".join(result["reasons"])
            by_reason.setdefault(reason, []).append(result)
    return dict(sorted(by_reason.items(), key=lambda entry: -len(entry[1])))
