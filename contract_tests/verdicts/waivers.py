"""Waivers: failures that are known, allowed for a time, and reported as such."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from contract_tests.errors import UsageError
from contract_tests.verdicts.verdicts import Result, Verdict
from link_management_contract import Contract, load_yaml

LONGEST = 2**20  # characters of a file
DAYS = 90  # that a new waiver lasts, unless it is changed
FIELDS = ("rule", "kind", "reason", "until")
YAML_ERRORS = (
    ArithmeticError,
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
)  # by PyYAML: wrong values of tags


@dataclass(frozen=True)
class Waiver:
    """Failures allowed until the end of a day: of the rules and resources that match two patterns, such as `*`."""

    rule: str
    resource: str
    reason: str
    end_date: date

    def __str__(self) -> str:
        return f"{self.rule}[{self.resource}], until {self.end_date}"


def read_waivers(path: Path) -> list[Waiver]:
    """Read a file of waivers.

    Raises:
        UsageError: if it cannot be read, or holds something else.
    """
    try:
        text = path.read_text(encoding="utf-8")
        if len(text) > LONGEST:
            raise UsageError(f"{path} has {len(text):,} characters; {LONGEST:,} are read at most, so use patterns")
        entries = load_yaml(text)
    except (OSError, ValueError, yaml.YAMLError, *YAML_ERRORS) as error:
        raise UsageError(f"{path} cannot be read: {' '.join(str(error).split())}") from error
    if not isinstance(entries, list):
        raise UsageError(f"{path} holds no list of waivers; each has {', '.join(FIELDS)}")
    waivers = [_waiver(path, number, entry) for number, entry in enumerate(entries, 1)]
    (pair, count), *_ = Counter((waiver.rule, waiver.resource) for waiver in waivers).most_common(1) or [(("", ""), 0)]
    if count > 1:
        raise UsageError(f"{path}: {pair[0]}[{pair[1]}] is waived {count} times; keep one of them")
    return waivers


def _waiver(path: Path, number: int, entry: Any) -> Waiver:
    if not isinstance(entry, dict) or set(entry) != set(FIELDS):
        raise UsageError(f"{path}: waiver {number} must have {', '.join(FIELDS)}, and nothing else")
    if not isinstance(entry["rule"], str) or not isinstance(entry["kind"], str):
        raise UsageError(f"{path}: waiver {number}: rule and kind must be texts")
    if type(entry["until"]) is not date:
        raise UsageError(f"{path}: waiver {number}: until is {entry['until']!r}; give a date such as 2027-01-31")
    if not isinstance(entry["reason"], str) or not entry["reason"].strip():
        raise UsageError(f"{path}: waiver {number}: the reason is missing; say why this may be, and who mends it")
    return Waiver(str(entry["rule"]), str(entry["kind"]), entry["reason"].strip(), entry["until"])


def apply_waivers(
    waivers: Iterable[Waiver], results: Iterable[Result], contract: Contract, today: date
) -> tuple[list[Result], list[str]]:
    """Mark what is waived.

    Returns:
        The results, and what is wrong with the waivers: each of those fails the run.
    """
    by_pair = {(result.rule.id, result.resource): result for result in results}
    stale = []
    for waiver in waivers:
        rules = [rule for rule in contract.rules.values() if fnmatchcase(rule.id, waiver.rule)]
        matching = [
            (rule.id, resource)
            for rule in rules
            for resource in rule.resources
            if fnmatchcase(resource, waiver.resource)
        ]
        matching_results = [by_pair[pair] for pair in matching if pair in by_pair]
        waived_results = [result for result in matching_results if not _is_mended(result)]
        if not matching:
            stale.append(f"{waiver}: the contract has no such rule for this resource")
        elif waiver.end_date < today:
            stale.append(f"{waiver}: its time is over")
        elif len(matching_results) == len(matching) and not waived_results:
            stale.append(f"{waiver}: nothing fails there any more; take it out")
        else:
            reason = f"{waiver.reason} (until {waiver.end_date})"
            by_pair |= {(result.rule.id, result.resource): replace(result, waived=reason) for result in waived_results}
    return list(by_pair.values()), stale


def _is_mended(result: Result) -> bool:
    """Whether nothing fails there any more; a run without a second key, for example, does not know."""
    does_not_apply = result.verdict is Verdict.NOT_APPLICABLE and not result.unjudged
    return result.verdict is Verdict.PASS or does_not_apply


class _Dumper(yaml.SafeDumper):
    """Writes every date in full, and no references between entries."""

    def ignore_aliases(self, _: Any) -> bool:
        return True


def write_waivers(path: Path, results: Iterable[Result], today: date, *, strict: bool) -> None:
    """Write a new file of waivers for everything that fails; each reason still has to be filled in.

    Raises:
        OSError: if it cannot be written, for example since there is such a file already.
    """
    end_date = today + timedelta(days=DAYS)
    failing: dict[str, list[Result]] = {}
    for result in results:
        if not result.waived and (result.verdict is Verdict.FAIL or (strict and result.verdict is Verdict.WARN)):
            failing.setdefault(result.rule.id, []).append(result)
    entries = [
        {"rule": rule, "kind": resource, "reason": "", "until": end_date}
        for rule, failed in failing.items()
        for resource in (
            ["*"] if 1 < len(failed) == len(failed[0].rule.resources) else [result.resource for result in failed]
        )
    ]
    with path.open("x", encoding="utf-8") as file:
        file.write("# Failures that are allowed for a time. Give each a reason: why, and who mends it.\n")
        file.write(yaml.dump(entries, Dumper=_Dumper, sort_keys=False))
