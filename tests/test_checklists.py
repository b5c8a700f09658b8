"""The checklists of CONTRIBUTING.md: a step that is forgotten fails here, and the message says which."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from contract_tests.contract import Contract, Resource, Rule
from contract_tests.open_points import DETECTORS, UNSEEN
from contract_tests.rules import AREAS, judge_of
from mock_server.contract import shipped_contract
from mock_server.faults.defects import DEFECTS, table
from mock_server.open_points.grease import EACH_REQUEST

ROOT = Path(__file__).parents[1]
CONTRACT = Contract()
JUDGED_OTHERWISE = {"is_enabled": ("forms.one-enables", "forms.zero-disables")}  # what comes back of a form
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
            assert list(rule.resources) == having, f"openapi.yaml: {rule.id}: {having} have the field {field} in a form"


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
        f"contract_tests/open_points/: add {name} to DETECTORS of a module or, with the reason, to UNSEEN"
    )
    assert UNSEEN.get(name, "A reason.").endswith(".")


def test_the_lists_of_open_points_name_open_points() -> None:
    unknown = {*DETECTORS, *UNSEEN, *EACH_REQUEST} - set(shipped_contract().open_points)
    assert unknown == set(), "openapi.yaml: add them to x-open-points, or correct DETECTORS, UNSEEN or EACH_REQUEST"


def test_a_module_of_defects_is_in_the_table() -> None:
    known = {area.__name__.rpartition(".")[2] for area in table.AREAS}
    folder = ROOT / "mock_server" / "faults" / "defects"
    strays = [path.name for path in folder.glob("*.py") if "DEFECTS: Table" in path.read_text("utf-8")]
    assert {Path(name).stem for name in strays} - known == set(), (
        "mock_server/faults/defects/table.py: add them to AREAS"
    )
