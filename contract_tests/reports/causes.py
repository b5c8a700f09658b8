"""Findings in the order in which to fix them, each under its likeliest cause; and what a failure left unjudged."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from contract_tests.verdicts.verdicts import VIOLATED, Verdict
from link_management_contract import shipped_contract

Result = Mapping[str, Any]  # as results.json holds it
LISTS, CREATES = (
    ("operations.list-", "envelopes.list-"),
    ("operations.create-", "operations.splash-", "envelopes.create-"),
)
LABELS = ("forms.name-comes-back", "forms.host-comes-back")  # by which a run knows its records again
LABEL_RULES = (
    "lifecycle.created-record-is-read",
    "lifecycle.created-record-is-listed-once",
    "lifecycle.create-leaves-other-records",
    "representations.listed-as-read",
)
FIELDS = ("forms.required-fields-", "forms.optional-fields-are-accepted-")  # of which files are a part
IN_THE_WAY = ("operations.", "envelopes.", *LABELS)  # what fails here hides whether other rules are satisfied
FIRST = (*LISTS, *CREATES, "operations.", "envelopes.", "accounts.", *LABEL_RULES, *LABELS, *FIELDS)
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
    def causes(self) -> list[Result]:
        """The results of its rule, and those that explain them as well as these explain those."""
        peers = (other for other in self.follows if any(_explains(other, result) for result in self.results))
        return [*self.results, *peers]

    @property
    def rule(self) -> str:
        return str(self.results[0]["rule"])


def groups(results: Sequence[Result]) -> list[CauseGroup]:
    """What was found, in the order in which to fix it: failures first, then warnings and what is waived."""
    violated = [result for result in results if result["verdict"] in VIOLATED]
    by_rule: dict[str, list[Result]] = {}
    for result in sorted(violated, key=lambda result: _order(result, violated)):
        by_rule.setdefault(result["rule"], []).append(result)
    cause_groups: list[CauseGroup] = []
    for rule_results in by_rule.values():
        unexplained = list(rule_results)
        for group in cause_groups:
            explained = [result for result in unexplained if any(_explains(cause, result) for cause in group.causes)]
            group.follows += explained
            unexplained = [result for result in unexplained if result not in explained]
        if unexplained:
            cause_groups.append(CauseGroup(unexplained))
    return cause_groups


def _order(result: Result, violated: Sequence[Result]) -> tuple[bool, bool, bool, int, int]:
    area = next((index for index, prefix in enumerate(FIRST, 1) if result["rule"].startswith(prefix)), len(FIRST) + 1)
    area = 0 if result["rule"] == KEY_REFUSED else area
    others = [other for other in violated if other["rule"] != result["rule"]]
    follows = any(_explains(other, result) and not _explains(result, other) for other in others)
    return bool(result["waived"]), result["verdict"] != Verdict.FAIL, follows, area, -len(_implied(result["rule"]))


def _implied(rule: str) -> tuple[str, ...]:
    known_rule = shipped_contract().rules.get(rule)  # results may be of another version
    return known_rule.implies if known_rule else ()


def _explains(cause: Result, result: Result) -> bool:
    """Whether the violation of a rule explains that of another.

    It does if the first implies the second. Unless it is the other way round, it also does if the same place of the
    same answer breaks both, or the same refusal, if a value has not the form on which comparisons of it rest, or if the
    write that the second blames is what breaks the first.
    """
    if cause["kind"] != result["kind"] or bool(cause["waived"]) != bool(result["waived"]):
        return False
    if result["rule"] in _implied(cause["rule"]) or cause["rule"] in _implied(result["rule"]):
        return result["rule"] in _implied(cause["rule"])
    one, other = cause["findings"][0], result["findings"][0]
    forms = (_is_of_form(cause["rule"]), _is_of_form(result["rule"]))
    is_same_place = (one["exchange"], one.get("at")) == (other["exchange"], other.get("at"))
    return bool(
        (is_same_place and forms != (False, True))
        or (forms == (True, False) and _field(one) == _field(other) != "")
        or _refusal(one) == _refusal(other) != ""
        or (one.get("sent") and other.get("cause", "").partition(", answered with ")[0] == one["sent"])
        or (cause["rule"].startswith("operations.") and _failed(one) == _failed(other) != "")
    )


def _is_of_form(rule: str) -> bool:
    """Whether a rule is about the form of one value."""
    known_rule = shipped_contract().rules.get(rule)
    return bool(known_rule and known_rule.decided_by == "exchange" and rule.startswith("representations."))


def _refusal(finding: Mapping[str, Any]) -> str:
    """The method, status and body of a refusal; empty for other answers, and for those without a body."""
    is_refusal = finding.get("answered", "").startswith("status 4")
    return f"{_failed(finding)} {finding['body']}" if is_refusal and finding.get("body") else ""


def _field(finding: Mapping[str, Any]) -> str:
    """The name of the record's field that a finding is about; empty if it is about none."""
    return str(finding.get("at", "")).rpartition("/")[2] if str(finding.get("at", "")).startswith("/data") else ""


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
