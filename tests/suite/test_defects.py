"""Each rule, judged where it is kept, where it is broken and where nothing can be said."""

from __future__ import annotations

from itertools import starmap
from zlib import crc32

import pytest
from faulty import BASE_URL, CONTRACT, SELDOM_SATISFIED, Explore, honest, looks, survey_alone, verdicts, visited

from contract_tests.evidence.evidence import Evidence
from contract_tests.evidence.observation import NEEDS_ALL, NEEDS_CONTROL, Chapter, Chapters
from contract_tests.exploration import Exploration
from contract_tests.proof import ACROSS_RESOURCES, ONLY_IN_A_RUN, RECORDS, STARTING_RECORDS
from contract_tests.run import needed
from contract_tests.verdicts.verdicts import VIOLATED, Verdict, judge
from mock_server import Settings
from mock_server.defects import DEFECTS

NAMES = [
    name
    for name, defect in DEFECTS.items()
    if CONTRACT.rules[defect.rule].decided_by != "round" and defect.rule not in {*ACROSS_RESOURCES, *ONLY_IN_A_RUN}
]
EXPLORED = """
    another-scheme-lists any-type-is-stored chat-alone-is-refused create-answers-the-id-of-the-same-name
    create-does-not-know-quoted-boundaries creates-are-done-and-fail far-page-shows-the-first key-as-a-parameter-reads
    key-in-a-cookie-reads key-in-the-query-lists settings-are-read-as-latin-1 token-scheme-lists
    update-clears-the-other-setting empty-list-is-null create-renames-the-one-before
    email-loses-dots email-loses-its-tag form-without-a-last-line-end-is-refused index-url-loses-capitals
    index-url-loses-its-fragment index-url-loses-its-query index-url-loses-percent-signs
    index-url-loses-plus-signs is-enabled-toggles long-boundary-is-refused long-text-fails
    malformed-form-fails markup-fails name-loses-zeros name-of-digits-is-a-number odd-page-fails
    reads-show-the-newest shorter-key-creates shorter-key-deletes shorter-key-lists shorter-key-reads
    shorter-key-updates single-record-is-not-in-an-array third-delete-does-nothing typed-text-is-a-file
    update-changes-all-of-the-same-host update-changes-all-of-the-same-name update-stores-any-type
    update-takes-no-telegram-chat-id update-toggles-another update-without-a-body-fails wrong-key-creates
    wrong-key-updates total-pages-is-one-more-on-exact-multiples
    letters-of-four-bytes-fail deleted-names-fail refused-updates-are-stored refused-creates-are-stored
    wrong-key-gets-an-empty-list updates-of-8-kilobytes-are-refused update-takes-shorter-names
    empty-addresses-are-skipped newest-id-is-used-again
""".split()  # noqa: SIM905 - shown by exploration alone, not by the chapters that the rule needs


CHAPTERS = {
    "+".join(chapter.name for chapter in Chapter if chapter in chapters): chapters
    for chapters in (needed([CONTRACT.rules[DEFECTS[name].rule]]) - NEEDS_CONTROL for name in NAMES)
}


@pytest.mark.parametrize("resource", CONTRACT.resources)
def test_each_rule_passes_on_an_honest_server_with_a_witness(resource: str) -> None:
    for rule, result in verdicts(honest, resource).items():
        if rule in SELDOM_SATISFIED:
            assert result.verdict in (Verdict.NOT_APPLICABLE, Verdict.PASS)
        else:
            assert (result.verdict, result.findings) == (Verdict.PASS, ()), rule
            assert result.witnesses > 0, f"openapi.yaml: the resources of {rule} name {resource}: does it apply?"


@pytest.mark.parametrize("chapters", CHAPTERS.values(), ids=CHAPTERS)
def test_no_rule_fails_on_an_honest_server_whichever_chapters_are_left_out(chapters: Chapters) -> None:
    for resource in CONTRACT.resources:
        visits, _ = visited(honest, resource, chapters=chapters)
        assert [result.id for result in visits.results if result.findings] == []


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * bool(number % 6)) for number, name in enumerate(NAMES)]
)
def test_a_defect_fails_its_rule_and_no_unrelated_one(no_pauses: None, name: str) -> None:
    assert_fails(name)


def trial(name: str) -> tuple[str, Settings, int]:
    """A resource, a server with a defect and a seed: others for each, so that all together meet many choices."""
    seed = crc32(name.encode()) % 1000
    resources = DEFECTS[name].resources or CONTRACT.rules[DEFECTS[name].rule].resources
    records = max(STARTING_RECORDS, RECORDS[seed % len(RECORDS)])
    settings = Settings(fixture="empty", records=records, grease=seed or None, defects=(name,))
    return resources[seed % len(resources)], settings, seed


def assert_fails(name: str) -> None:
    """The rule that a defect breaks fails, and no other than those that it implies, in the chapters that it needs."""
    defect, (resource, settings, seed) = DEFECTS[name], trial(name)
    rule, is_explored = CONTRACT.rules[defect.rule], name in EXPLORED
    chapters = NEEDS_ALL if is_explored else needed([rule]) - NEEDS_CONTROL
    explore: Explore = Exploration(CONTRACT, 170, seed) if is_explored else survey_alone
    visits, _ = visited(honest, resource, settings, explore, chapters=chapters, explore_until=rule)
    results = {result.rule.id: result for result in visits.results}
    own = results.pop(rule.id)
    assert own.verdict is (Verdict.WARN if rule.level == "advisory" else Verdict.FAIL), (
        f"{rule.id} says {own.verdict} ({'; '.join(own.reasons)}): does {name} break it whatever is chosen (needs)?"
    )
    assert all(finding.expected and finding.received for finding in own.findings)
    others = {rule for rule, result in results.items() if result.verdict in VIOLATED} - defect.implied_rules
    assert others == set(), (
        f"{sorted(others)} fail, too. If each server that breaks {rule.id} must break them, add them to what it implies"
        " in openapi.yaml; otherwise, correct their functions."
    )


def test_each_rule_says_nothing_where_nothing_was_seen() -> None:
    applied = [(rule, CONTRACT.resources[name]) for rule in CONTRACT.rules.values() for name in rule.resources]
    results = list(starmap(lambda rule, resource: judge(rule, Evidence(resource, BASE_URL)), applied))
    assert [result.id for result in results if not result.reasons] == []
    assert {result.verdict for result in results} == {Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE}


def test_a_defect_takes_along_rules_of_the_contract_alone() -> None:
    assert all(defect.implied_rules <= set(CONTRACT.rules) for defect in DEFECTS.values())


def test_a_rule_that_several_requests_decide_is_not_broken_by_one_visit_alone(no_pauses: None) -> None:
    rule, resource = CONTRACT.rules["lifecycle.deleted-record-is-not-read"], CONTRACT.resources["splash-pages"]
    broken, _, _ = looks(honest, resource.name, Settings(fixture="empty", records=28, defects=("deletes-do-nothing",)))
    kept, _, _ = looks(honest, resource.name)
    result = judge(rule, broken, kept)
    assert result.verdict is Verdict.INCONCLUSIVE
    assert result.reasons == ("it seemed broken in one visit, but not in another",)
    assert result.findings
