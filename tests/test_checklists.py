"""The checklists of CONTRIBUTING.md: a step that is forgotten fails here, and the message says which."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import walk
import yaml

import contract_tests.verdicts.verdicts  # noqa: F401 - which registers the rules
from contract_tests.evidence.observation import DECISIONS
from contract_tests.verdicts.open_points import DETECTORS
from link_management_contract import OpenPoint, Rule, shipped_contract
from mock_server.defects import DEFECTS

ROOT = Path(__file__).parents[1]
CONTRACT = shipped_contract()
JUDGED_OTHERWISE = {"is_enabled": ("forms.one-enables", "forms.zero-disables")}  # what comes back of a form
WHOLE_FORMS = {"splash-pages": "SplashPageMost", "domains": "DomainMost"}

FIELDS = [
    (resource, field)
    for resource in CONTRACT.resources.values()
    for field in {**dict.fromkeys(resource.required), **resource.optional}
]


@cache
def demo_records(resource: str) -> list[dict[str, object]]:
    demo = yaml.safe_load((ROOT / "fixtures" / "demo.yaml").read_text("utf-8"))
    return [record for account in demo["accounts"] for record in account["records"][resource]]


def test_each_field_of_a_form_is_set_in_the_demo_fixture() -> None:
    assert [
        f"fixtures/demo.yaml: set {field} in a record of {resource.name}"
        for resource, field in FIELDS
        if not any(field in record for record in demo_records(resource.name))
    ] == []


def test_each_field_that_the_demo_fixture_sets_is_written_or_read() -> None:
    for resource in CONTRACT.resources.values():
        known = {field for each, field in FIELDS if each is resource} | set(resource.record_schema) | {"is_enabled"}
        unknown = {field for record in demo_records(resource.name) for field in record} - known
        assert unknown == set(), f"openapi.yaml: add {unknown} to a form of {resource.name}: fixtures/demo.yaml sets it"


def test_each_field_of_a_form_is_in_the_whole_forms() -> None:
    walked = {each.name: each.most for each in walk.RESOURCES}
    fields = [(each.name, field) for each, field in FIELDS if each.optional.get(field) != "file"]
    shown = {
        name: CONTRACT.document["components"]["examples"][example]["value"] for name, example in WHOLE_FORMS.items()
    }
    assert [
        f"openapi.yaml: add {field} to the example {WHOLE_FORMS[name]}"
        for name, field in fields
        if name in shown and field not in shown[name]
    ] == []
    assert [
        f"tests/walk.py: add {field} to the form `most` of {name}"
        for name, field in fields
        if name in shown and field not in walked[name]
    ] == []


def test_each_field_that_is_written_and_read_has_a_rule_that_it_comes_back() -> None:
    assert [
        f"openapi.yaml: {field} of {resource.name} is written and read; add {rule} to x-rules"
        for resource, field in FIELDS
        if field in resource.record_schema
        for rule in JUDGED_OTHERWISE.get(field, (f"forms.{field.replace('_', '-')}-comes-back",))
        if rule not in CONTRACT.rules
    ] == []


def test_a_rule_that_a_field_comes_back_holds_for_each_resource_with_the_field() -> None:
    for rule in CONTRACT.rules.values():
        field = rule.id.removeprefix("forms.").removesuffix("-comes-back").replace("-", "_")
        if rule.id == f"forms.{field.replace('_', '-')}-comes-back":
            having = [resource.name for resource, each in FIELDS if each == field]
            assert list(rule.resources) == having, (
                f"openapi.yaml: {rule.id}: forms of {having} have {field}; set resources so, or add it to a form"
            )


def test_a_field_that_is_read_is_required_once_a_rule_on_its_type_gates_and_not_before() -> None:
    for resource in CONTRACT.resources.values():
        for field in resource.record_schema:
            start = f"representations.{field.replace('_', '-')}-"
            levels = {rule.level for rule in CONTRACT.rules.values() if rule.id.startswith(start)}
            assert not levels or (field in resource.required_in_reads) == (levels != {"advisory"}), (
                f"openapi.yaml: {field} of {resource.name} stands under required if the rules {start}... gate, and not"
                " while they are advisory: a record without it would fail (docs/ci.md, New rules)"
            )


def test_each_field_that_is_read_stands_in_the_examples_and_in_the_specification() -> None:
    responses = CONTRACT.document["components"]["responses"]
    specification = set(re.findall("`([a-z_]+)`", (ROOT / "docs" / "specification.md").read_text("utf-8")))
    for name, schema in walk.READ_SCHEMAS.items():
        shown = set(CONTRACT.resources[name].record_schema)
        (listed,), read = (
            responses[f"{schema}{kind}"]["content"]["application/json"]["example"]["data"] for kind in ("List", "Read")
        )
        for kind, record in (("list", listed), ("read", read)):
            assert set(record) == shown, f"openapi.yaml: make the example of a {kind} of {name} show {shown}"
        assert shown <= specification, f"docs/specification.md: add {shown - specification} to the fields of {name}"


def test_each_field_that_is_read_has_a_rule_on_its_type() -> None:
    assert [
        f"openapi.yaml: {field} of {resource.name} is read; add a rule {start}... on its type to x-rules"
        for resource in CONTRACT.resources.values()
        for field in resource.record_schema
        for start in [f"representations.{field.replace('_', '-')}-"]
        if not any(rule.id.startswith(start) and resource.name in rule.resources for rule in CONTRACT.rules.values())
    ] == []


def test_a_rule_on_the_type_of_a_field_holds_for_each_resource_that_shows_the_field() -> None:
    fields = {field for resource in CONTRACT.resources.values() for field in resource.record_schema}
    for rule in CONTRACT.rules.values():
        about = [each for each in fields if rule.id.startswith(f"representations.{each.replace('_', '-')}-")]
        showing = [
            each.name for each in CONTRACT.resources.values() if about and max(about, key=len) in each.record_schema
        ]
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


def test_each_rule_has_cases_on_hand_made_exchanges() -> None:
    findings = (ROOT / "tests" / "golden" / "findings.txt").read_text("utf-8")
    missing = []
    for rule in CONTRACT.rules:
        names = (rule.partition(".")[2], rule)
        if not any(re.fullmatch(pattern, name) for pattern in texts_of_cases() for name in names):
            missing.append(f"tests/rules/: add cases of {rule}")
        if f"{rule}: expected" not in findings:
            missing.append(f"tests/rules/: add a case in which {rule} is violated")
        if f"{rule}: Satisfied\n" not in findings:
            missing.append(f"tests/rules/: add a case in which {rule} is satisfied")
    assert missing == []


def test_each_rule_has_a_function_that_judges_it_and_a_defect_that_breaks_it() -> None:
    undecided = set(CONTRACT.rules) - set(DECISIONS)
    assert undecided == set(), "contract_tests/rules/: add functions with @rule for them"
    broken = {defect.rule for defect in DEFECTS.values()}
    assert [
        f"mock_server/defects/table.py: no defect breaks {rule}" for rule in CONTRACT.rules if rule not in broken
    ] == []


def test_each_function_that_judges_is_that_of_a_rule() -> None:
    unknown = set(DECISIONS) - set(CONTRACT.rules)
    assert unknown == set(), "openapi.yaml: add them to x-rules, or correct the @rule in contract_tests/rules"


def test_the_id_of_each_rule_stands_in_one_module_of_its_area() -> None:
    folders = [ROOT / "contract_tests" / name for name in ("rules", "overlap")]
    texts = {path.stem: path.read_text("utf-8") for folder in folders for path in folder.glob("*.py")}
    for rule in CONTRACT.rules:
        area = {"concurrency": "rules"}.get(rule.partition(".")[0], rule.partition(".")[0])
        assert [name for name, text in texts.items() if f'"{rule}"' in text] == [area], rule


def test_each_open_point_has_a_detector_or_a_reason_why_it_is_not_seen() -> None:
    for name, point in CONTRACT.open_points.items():
        assert (name in DETECTORS) != bool(point.unseen), (
            f"contract_tests/verdicts/open_points.py: add a detector of {name}, or say in openapi.yaml why it is unseen"
        )
        assert (point.unseen or "A reason.").endswith("."), f"openapi.yaml: say in a sentence why {name} is unseen"


def test_what_a_rule_implies_are_other_rules() -> None:
    for rule in CONTRACT.rules.values():
        assert set(rule.implies) <= set(CONTRACT.rules) - {rule.id}, f"openapi.yaml: correct what {rule.id} implies"


def test_each_entry_names_a_section_of_the_specification() -> None:
    lines = re.findall(r"^Section: (.*)\.$", (ROOT / "docs" / "specification.md").read_text("utf-8"), re.MULTILINE)
    sections = re.split("; |, |end of ", "; ".join(lines))
    entries: list[Rule | OpenPoint] = [*CONTRACT.rules.values(), *CONTRACT.open_points.values()]
    assert [
        f"openapi.yaml: {entry.id}: no section {entry.section!r} in docs/specification.md"
        for entry in entries
        if entry.section not in sections
    ] == []


def test_each_defect_has_a_name_of_small_letters_and_a_sentence() -> None:
    for name, defect in DEFECTS.items():
        assert re.fullmatch("[a-z0-9]+(-[a-z0-9]+)*", name), f"mock_server/defects/table.py: rename {name!r}"
        assert len(defect.description.split()) > 1, f"mock_server/defects/table.py: say in a sentence what {name} does"


def test_each_attack_says_what_it_attacks_how_and_what_holds() -> None:
    pattern = r"Surface: .+\.\nAttack: .+\.\nHolds: .+\.\n"
    assert [
        f"{path.relative_to(ROOT)}: begin with three lines, Surface, Attack and Holds (SECURITY.md, Adding an attack)"
        for path in sorted((ROOT / "tests" / "hostile").glob("test_*.py"))
        if not re.fullmatch(pattern, ast.get_docstring(ast.parse(path.read_text("utf-8")), clean=False) or "")
    ] == []
