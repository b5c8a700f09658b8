"""The checklists of CONTRIBUTING.md: a step that is forgotten fails here, and the message says which."""

from __future__ import annotations

import ast
import inspect
import re
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
import walk
import yaml

from contract_tests.contract import Contract, OpenPoint, Resource, Rule
from contract_tests.open_points import DETECTORS, UNSEEN
from contract_tests.rules import AREAS, judge_of
from mock_server.contract import shipped_contract
from mock_server.faults.defects import DEFECTS, table
from mock_server.faults.defects.defect import Defect
from mock_server.open_points.grease import EACH_REQUEST

ROOT = Path(__file__).parents[1]
CONTRACT = Contract()
JUDGED_OTHERWISE = {"is_enabled": ("forms.one-enables", "forms.zero-disables")}  # what comes back of a form
WHOLE_FORMS = {"splash-pages": "SplashPageMost", "domains": "DomainMost"}
MODULES = [module for area in AREAS.values() for module in area]


FIELDS = [
    (resource, field)
    for resource in CONTRACT.resources.values()
    for field in {**dict.fromkeys(resource.required), **resource.optional}
]


@pytest.mark.parametrize(("resource", "field"), FIELDS, ids=lambda value: getattr(value, "name", value))
def test_a_field_of_a_form_is_set_in_the_demo_fixture(resource: Resource, field: str) -> None:
    demo = yaml.safe_load((ROOT / "fixtures" / "demo.yaml").read_text("utf-8"))
    records = [record for account in demo["accounts"] for record in account["records"][resource.name]]
    assert any(field in record for record in records), f"fixtures/demo.yaml: set {field} in a record of {resource.name}"


@pytest.mark.parametrize("resource", CONTRACT.resources.values(), ids=lambda resource: resource.name)
def test_a_field_that_the_demo_fixture_sets_is_written_or_read(resource: Resource) -> None:
    demo = yaml.safe_load((ROOT / "fixtures" / "demo.yaml").read_text("utf-8"))
    fields = {field for account in demo["accounts"] for record in account["records"][resource.name] for field in record}
    unknown = fields - {field for each, field in FIELDS if each is resource} - set(resource.shape) - {"is_enabled"}
    assert unknown == set(), f"openapi.yaml: add {unknown} to a form of {resource.name}, as fixtures/demo.yaml sets it"


@pytest.mark.parametrize(
    ("resource", "field"),
    [(each, field) for each, field in FIELDS if each.name in WHOLE_FORMS and each.optional.get(field) != "file"],
    ids=lambda value: getattr(value, "name", value),
)
def test_a_field_of_a_form_is_in_the_whole_forms(resource: Resource, field: str) -> None:
    example = WHOLE_FORMS[resource.name]
    shown = CONTRACT.document["components"]["examples"][example]["value"]
    assert field in shown, f"openapi.yaml: add {field} to the example {example}"
    walked = next(each.most for each in walk.RESOURCES if each.name == resource.name)
    assert field in walked, f"tests/walk.py: add {field} to the form `most` of {resource.name}"


@pytest.mark.parametrize(("resource", "field"), FIELDS, ids=lambda value: getattr(value, "name", value))
def test_a_field_that_is_written_and_read_has_a_rule_that_it_comes_back(resource: Resource, field: str) -> None:
    rules = JUDGED_OTHERWISE.get(field, (f"forms.{field.replace('_', '-')}-comes-back",))
    missing = [rule for rule in rules if field in resource.shape and rule not in CONTRACT.rules]
    assert missing == [], f"openapi.yaml: {field} of {resource.name} is written and read; add {missing} to x-rules"


def test_a_rule_that_a_field_comes_back_holds_for_each_resource_with_the_field() -> None:
    for rule in CONTRACT.rules.values():
        field = rule.id.removeprefix("forms.").removesuffix("-comes-back").replace("-", "_")
        if rule.id == f"forms.{field.replace('_', '-')}-comes-back":
            having = [resource.name for resource, each in FIELDS if each == field]
            assert list(rule.resources) == having, (
                f"openapi.yaml: {rule.id}: forms of {having} have {field}; set resources so, or add it to a form"
            )


@pytest.mark.parametrize("name", ["SplashPage", "Domain", "NotificationHandler"])
def test_a_field_that_is_read_is_among_the_properties_and_required(name: str) -> None:
    schema = CONTRACT.document["components"]["schemas"][name]
    apart = set(schema["properties"]) ^ set(schema["required"])
    assert apart == set(), f"openapi.yaml, {name}: put {apart} under properties and under required"


@pytest.mark.parametrize("resource", CONTRACT.resources.values(), ids=lambda resource: resource.name)
def test_a_field_that_is_read_has_a_rule_on_its_type(resource: Resource) -> None:
    for field in resource.shape:
        start = f"representations.{field.replace('_', '-')}-"
        found = [rule for rule in CONTRACT.rules.values() if rule.id.startswith(start)]
        assert any(resource.name in rule.resources for rule in found), (
            f"openapi.yaml: {field} of {resource.name} is read; add a rule {start}... on its type to x-rules"
        )


def test_a_rule_on_the_type_of_a_field_holds_for_each_resource_that_shows_the_field() -> None:
    fields = {field for resource in CONTRACT.resources.values() for field in resource.shape}
    for rule in CONTRACT.rules.values():
        about = [each for each in fields if rule.id.startswith(f"representations.{each.replace('_', '-')}-")]
        showing = [each.name for each in CONTRACT.resources.values() if about and max(about, key=len) in each.shape]
        assert not about or list(rule.resources) == showing, f"openapi.yaml: {rule.id}: set resources to {showing}"


@cache
def texts_of_cases() -> frozenset[str]:
    """The texts in the tests of rules as patterns: `f"pagination.total-follows-{event}"` stands for several rules."""
    patterns = set()
    for path in (ROOT / "tests" / "rules").glob("test_*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                patterns.add(re.escape(node.value))
            elif isinstance(node, ast.JoinedStr) and (parts := [getattr(each, "value", "") for each in node.values]):
                whole = ".+".join(re.escape(part) for part in parts if isinstance(part, str))
                patterns.add(f"{whole}.*" if "-" in whole else "")  # the name of an area alone says nothing
    return frozenset(patterns)


@pytest.mark.parametrize("rule", CONTRACT.rules.values(), ids=lambda rule: rule.id)
def test_a_rule_has_cases_on_hand_made_exchanges(rule: Rule) -> None:
    area, _, slug = rule.id.partition(".")
    named = any(re.fullmatch(pattern, slug) or re.fullmatch(pattern, f"{area}.{slug}") for pattern in texts_of_cases())
    assert named, f"tests/rules/: add cases of {rule.id}"
    findings = (ROOT / "tests" / "golden" / "findings.txt").read_text("utf-8")
    assert f"{rule.id}: expected" in findings, f"tests/rules/: add a case in which {rule.id} is violated"
    assert f"{rule.id}: Satisfied\n" in findings, f"tests/rules/: add a case in which {rule.id} is satisfied"


@pytest.mark.parametrize("rule", CONTRACT.rules.values(), ids=lambda rule: rule.id)
def test_a_rule_has_a_function_that_judges_it_and_a_defect_that_breaks_it(rule: Rule) -> None:
    assert callable(judge_of(rule))
    broken = [defect.name for defect in DEFECTS.values() if defect.rule == rule.id]
    assert broken, f"mock_server/faults/defects/: no defect breaks {rule.id}"


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_a_function_that_judges_is_that_of_a_rule(module: ModuleType) -> None:
    area = next(name for name, modules in AREAS.items() if module in modules)
    for name, function in inspect.getmembers(module, inspect.isfunction):
        is_own = function.__module__ == module.__name__ and not name.startswith("_")
        if is_own and inspect.signature(function).return_annotation == "Observations":
            rule = f"{area}.{name.replace('_', '-')}"
            assert rule in CONTRACT.rules, f"openapi.yaml: add the rule {rule} to x-rules, or rename {name}"


def test_a_module_of_rules_belongs_to_an_area() -> None:
    known = {module.__name__.rpartition(".")[2] for module in MODULES} | {"__init__", "observation", "same"}
    strays = [path.name for path in (ROOT / "contract_tests" / "rules").glob("*.py") if path.stem not in known]
    assert strays == [], "contract_tests/rules/__init__.py: add them to AREAS"


@pytest.mark.parametrize("name", shipped_contract().open_points)
def test_an_open_point_has_a_detector_or_a_reason_why_it_is_not_seen(name: str) -> None:
    assert (name in DETECTORS) != (name in UNSEEN), (
        f"contract_tests/open_points/: have {name} in DETECTORS of a module or, with the reason, in UNSEEN, not in both"
    )
    assert UNSEEN.get(name, "A reason.").endswith("."), f"contract_tests/open_points/: say why {name} is not seen"


@cache
def sections() -> frozenset[str]:
    """The sections that the specification names above its statements."""
    lines = re.findall(r"^Section: (.*)\.$", (ROOT / "docs" / "specification.md").read_text("utf-8"), re.MULTILINE)
    return frozenset(re.split("; |, |end of ", "; ".join(lines)))


@pytest.mark.parametrize("entry", [*CONTRACT.rules.values(), *CONTRACT.open_points.values()], ids=lambda each: each.id)
def test_an_entry_names_a_section_of_the_specification(entry: Rule | OpenPoint) -> None:
    assert entry.section in sections(), (
        f"openapi.yaml: {entry.id}: no section {entry.section!r} in docs/specification.md"
    )


@pytest.mark.parametrize("point", CONTRACT.open_points.values(), ids=lambda point: point.id)
def test_an_open_point_has_values_with_meanings_and_one_of_them_for_the_mock(point: OpenPoint) -> None:
    assert len(point.values) > 1, f"openapi.yaml: {point.id} needs two values at least"
    assert all(point.values.values()), f"openapi.yaml: {point.id}: say what each value means"
    assert point.default in point.values, f"openapi.yaml: {point.id}: default is none of its values"


@pytest.mark.parametrize("defect", DEFECTS.values(), ids=lambda defect: defect.name)
def test_a_defect_has_a_name_of_small_letters_and_a_sentence(defect: Defect) -> None:
    assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", defect.name), f"mock_server/faults/defects/: rename {defect.name!r}"
    assert len(defect.what.split()) > 1, f"mock_server/faults/defects/: say in a sentence what {defect.name} does"


def test_the_lists_of_open_points_name_open_points() -> None:
    unknown = {*DETECTORS, *UNSEEN, *EACH_REQUEST} - set(shipped_contract().open_points)
    assert unknown == set(), "openapi.yaml: add them to x-open-points, or correct DETECTORS, UNSEEN or EACH_REQUEST"


def test_a_module_of_defects_is_in_the_table() -> None:
    known = {area.__name__.rpartition(".")[2] for area in table.AREAS}
    folder = ROOT / "mock_server" / "faults" / "defects"
    pattern = re.compile("^DEFECTS.* = {", re.MULTILINE)
    strays = [path.name for path in folder.glob("*.py") if pattern.search(path.read_text("utf-8"))]
    assert {Path(name).stem for name in strays} - known == set(), (
        "mock_server/faults/defects/table.py: add them to AREAS"
    )
