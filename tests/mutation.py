"""Changes the rules' code in one place at a time, and sees that a server that is known to be right or wrong tells.

Run it with `make mutation`; it takes some minutes. A change that nothing tells of is a check that nobody needs, or that
no defect puts to the test: it must stand in `survivors.yaml` beside this file, with the reason.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from pathlib import Path
from time import monotonic, time
from types import CodeType, FunctionType, SimpleNamespace
from typing import Any

import yaml

sys.path.insert(0, str(Path(__file__).parent / "suite"))

from faulty import BASE_URL, CONTRACT, honest, looks, survey_alone
from mutants import Mutant, mutants_of
from test_edge_cases import CHOICES, FAULTS, FULL
from test_trouble import EMPTY, TROUBLE

from contract_tests.contract import Resource, Rule
from contract_tests.evidence import Evidence
from contract_tests.explore import Exploration
from contract_tests.proof.trials import RECORDS
from contract_tests.rules import AREAS, judge_of, observation
from contract_tests.run import verdicts
from contract_tests.run.verdicts import VIOLATED, Verdict, judge
from contract_tests.survey import visitor
from contract_tests.target import target
from contract_tests.target.target import Limits
from mock_server import Settings
from mock_server.faults.defects import DEFECTS

MODULES = [*dict.fromkeys(module for area in AREAS.values() for module in area), observation]
NAMES = {module.__name__ for module in MODULES}
SURVIVORS = Path(__file__).with_name("survivors.yaml")
RIGHT_SEEDS, STRIDE = 6, 5  # greases of servers that are right; one in so many servers that other rules are about
PARTLY = [Limits(requests=count) for count in (6, 20, 40, 60, 80)] + [Limits(read_only=True)]


@dataclass(frozen=True, eq=False)
class Case:
    """What a run saw of a server, and whether the verdicts on it are as they should be.

    Attributes:
        rules: the rules that must fall; none must, if empty.
        also: those that may.
        rest: verdicts that the others may have.
        verdicts: those that a server that is right was given, and is to be given again, by rule.
    """

    resource: Resource
    looks: tuple[Evidence, ...]
    rules: frozenset[str] = frozenset()
    also: frozenset[str] = frozenset()
    rest: frozenset[Verdict] = frozenset({Verdict.PASS, Verdict.NOT_APPLICABLE})
    verdicts: dict[str, Verdict] = field(default_factory=dict)

    def is_as_it_should_be(self, rules: Iterable[Rule] = CONTRACT.rules.values()) -> bool:
        """Judge anew by some rules, and compare."""
        for rule in rules:
            if self.resource.name in rule.resources:
                verdict = judge(rule, self.resource, *self.looks).verdict
                if not self.rules and (
                    verdict not in self.rest or self.verdicts.setdefault(rule.id, verdict) is not verdict
                ):
                    return False
                if rule.id in self.rules and verdict not in VIOLATED:
                    return False
                if self.rules and verdict in VIOLATED and rule.id not in self.rules | self.also:
                    return False
        return True


def main() -> int:
    visitor.PAUSES, visitor.SETTLING, target.PAUSE = (0.0,), 0.0, 0.0  # type: ignore[assignment]
    target.time = SimpleNamespace(time=time, monotonic=monotonic, sleep=lambda _: None)  # type: ignore[assignment, attr-defined]
    cases = list(every_case())
    wrong = [case for case in cases if not case.is_as_it_should_be()]
    for case in wrong:  # these would tell of any change
        print(
            f"judged wrongly, and left out: {case.resource.name} {', '.join(case.rules) or 'of a server that is right'}"
        )
        cases.remove(case)
    print(f"{len(cases)} servers seen", flush=True)
    mutants = [mutant for module in MODULES for mutant in mutants_of(module)]
    alive = side_by_side(lambda share: survivors(cases, mutants[share :: os.cpu_count()]))
    allowed = {name: why for why, names in yaml.safe_load(SURVIVORS.read_text("utf-8")).items() for name in names}
    for name in sorted(set(alive) - set(allowed)):
        print(name)
    print(f"{len(mutants)} changes, {len(alive)} of which nothing tells, {len(set(alive) - set(allowed))} unexplained")
    gone = set(allowed) - set(alive)
    for name in gone:
        print(f"explained, but told of: {name}")
    return int(bool(set(alive) - set(allowed) or gone))


def every_case() -> Iterator[Case]:
    """No server, servers that are right, each with another grease, each defect, and what strangers thought of."""
    for resource in CONTRACT.resources.values():
        yield Case(resource, (Evidence(BASE_URL),), rest=frozenset({Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE}))
        for seed in range(RIGHT_SEEDS):
            settings = Settings(fixture="empty", records=RECORDS[seed % len(RECORDS)], grease=seed or None)
            yield Case(resource, seen(honest, resource.name, settings, seed))
        for limits in PARTLY:
            yield Case(
                resource, seen(honest, resource.name, FULL, limits=limits), rest=Case.rest | {Verdict.INCONCLUSIVE}
            )
        for conditions, settings in product(TROUBLE, (EMPTY, FULL)):
            under = replace(settings, conditions=conditions)
            yield Case(resource, seen(honest, resource.name, under, 1), rest=Case.rest | {Verdict.INCONCLUSIVE})
    for number, defect in enumerate(DEFECTS.values()):
        resources = defect.resources or CONTRACT.rules[defect.rule].resources
        resource = CONTRACT.resources[resources[number % len(resources)]]
        records = RECORDS[number % len(RECORDS)]
        settings = Settings(fixture="empty", records=records, grease=number or None, defects=(defect.name,))
        case = Case(resource, seen(honest, resource.name, settings), frozenset({defect.rule}), defect.also)
        if not case.is_as_it_should_be():
            case = Case(resource, seen(honest, resource.name, settings, number), frozenset({defect.rule}), defect.also)
        yield case
    for rule, name, lie in FAULTS.values():
        case = Case(CONTRACT.resources[name], seen(lie, name, FULL, 0), frozenset({rule}), frozenset(CONTRACT.rules))
        yield case
    for name, lie, others in CHOICES.values():
        yield Case(CONTRACT.resources[name], seen(lie, name, FULL, 0), also=frozenset(), rest=Case.rest | others)


def seen(
    lie: Any, resource: str, settings: Settings, seed: int | None = None, limits: Limits | None = None
) -> tuple[Evidence, ...]:
    explore = survey_alone if seed is None else Exploration(CONTRACT, 120, seed)
    first, second, _ = looks(lie, resource, settings, explore, limits)
    return (first,) if second is None else (first, second)


def side_by_side(find: Callable[[int], list[str]]) -> list[str]:
    """What processes of their own find, one a core; what they share is not copied."""
    pipes = []
    for share in range(os.cpu_count() or 1):
        reading, writing = os.pipe()
        if os.fork() == 0:
            with os.fdopen(writing, "w", encoding="utf-8") as pipe:
                json.dump(find(share), pipe)
            os._exit(0)
        os.close(writing)
        pipes.append(reading)
    found: list[str] = []
    for reading in pipes:
        with os.fdopen(reading, encoding="utf-8") as pipe:
            found += json.load(pipe)
    return found


def survivors(cases: list[Case], mutants: Sequence[Mutant]) -> list[str]:
    """The names of those mutants that nothing tells of."""
    alive = []
    for mutant in mutants:
        rules = touched_by(mutant)
        with in_place(mutant):
            if is_alive(cases, rules):
                alive.append(mutant.name)
    return alive


def is_alive(cases: list[Case], rules: list[Rule]) -> bool:
    """Whether all verdicts by some rules are as they should be; servers that break one of them are asked first."""
    names = {rule.id for rule in rules}
    near = [case for case in cases if case.rules & names]
    right = [case for case in cases if not case.rules]
    far = [case for case in cases if case.rules and not case.rules & names][::STRIDE]
    try:
        return all(case.is_as_it_should_be(rules) for case in (*near, *right, *far))
    except Exception:  # noqa: BLE001 - a rule that breaks tells, too
        return False


def touched_by(mutant: Mutant) -> list[Rule]:
    """The rules whose functions call the one that is changed, or are it."""
    changed = vars(mutant.module)[mutant.function]
    touched = [rule for rule in CONTRACT.rules.values() if changed in called_by(judge_of(rule))]
    return touched or list(CONTRACT.rules.values())


@cache
def called_by(function: FunctionType) -> frozenset[FunctionType]:
    """A function, and all that it calls, whatever they are called by."""
    found: set[FunctionType] = set()
    waiting = [function]
    while waiting:
        each = waiting.pop()
        if each not in found and each.__module__ in NAMES:
            found.add(each)
            waiting += functions_in(each)
    return frozenset(found)


def functions_in(function: FunctionType) -> Iterator[FunctionType]:
    """The functions that a function names, those in tables and closures too."""
    names = {name for code in codes_in(function.__code__) for name in code.co_names}
    values = [function.__globals__.get(name) for name in names]
    values += [cell.cell_contents for cell in function.__closure__ or ()]
    for value in values:
        members = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else [value]
        yield from (each for each in members if isinstance(each, FunctionType))


def codes_in(code: CodeType) -> Iterator[CodeType]:
    """The code of a function, and of those within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from codes_in(constant)


@contextmanager
def in_place(mutant: Mutant) -> Iterator[None]:
    """Let the mutated functions take the place of the old ones, wherever they are known."""
    old = {module: dict(vars(module)) for module in (*MODULES, verdicts)}
    before = {name: value for name, value in old[mutant.module].items() if callable(value)}
    code = compile(mutant.tree, mutant.module.__file__ or "", "exec")
    exec(code, vars(mutant.module))
    for module in old:
        names = [name for name, value in vars(module).items() if name in before and before[name] is value]
        if names and module is not mutant.module:
            vars(module).update({name: vars(mutant.module)[name] for name in names})
    try:
        yield
    finally:
        for module, namespace in old.items():
            vars(module).update(namespace)


if __name__ == "__main__":
    sys.exit(main())
