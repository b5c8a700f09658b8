"""The proof fails where a defect survives, has another name or takes unrelated rules along, or a right server fails."""

from __future__ import annotations

import pytest

from contract_tests.commands.prove import as_dict, markdown
from contract_tests.proof import Defect, Judgement, Proof, ServerSetup
from link_management_contract import Rule

DEFECT = Defect("total-is-one-more", "a.rule", "One too many.", ())
OTHER = Defect("never-tried", "a.rule", "Not tried.", ())
RULE = Rule("a.rule", "implied", "state", "Pages", "It is so.", (1,), ("domains",), ("a.consequence",))


def judged(
    *fell: str,
    name: str = DEFECT.name,
    undecided: tuple[str, ...] = (),
    left: tuple[str, ...] = (),
    hostile: bool = False,
) -> Judgement:
    trial = ServerSetup(name, 3, {"grease": 3}, ("domains",), DEFECT.rule, may_be_undecided=hostile)
    return Judgement(trial, frozenset(fell), frozenset(fell), undecided, left, 7 if DEFECT.rule in fell else None)


def proof(*every: Judgement) -> Proof:
    return Proof.of({"a.rule": RULE}, {each.name: each for each in (DEFECT, OTHER)}, every)


def test_what_a_rule_implies_has_to_show_in_a_trial_of_all_defects() -> None:
    defects = {DEFECT.name: DEFECT}
    assert Proof.of({"a.rule": RULE}, defects, [judged("a.rule", "a.consequence")], complete=True).failures == []
    assert Proof.of({"a.rule": RULE}, defects, [judged("a.rule")], complete=True).failures == [
        "openapi.yaml: no server that breaks a.rule was seen to break a.consequence, which it implies"
    ]


@pytest.mark.parametrize(
    ("fell", "verdict"),
    [
        ({"a.rule"}, "caught"),
        ({"a.rule", "a.consequence"}, "caught"),
        (set(), "survives"),
        ({"a.consequence"}, "misnamed"),
        ({"a.rule", "b.stranger"}, "unrelated"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_one_trial_of_two_decides_about_a_defect(fell: set[str], verdict: str) -> None:
    made = proof(judged("a.rule"), judged(*fell))
    assert [(row.defect.name, row.verdict) for row in made.rows] == [(DEFECT.name, verdict)]
    told = f"{DEFECT.name}: {verdict}" + (" (b.stranger)" if verdict == "unrelated" else "")
    assert made.failures == ([] if verdict == "caught" else [told])


def test_a_server_that_is_right_may_neither_fail_nor_stay_undecided_nor_keep_records_of_the_run() -> None:
    made = proof(
        judged("b.rule", name=""),
        judged(name="", undecided=("c.rule[domains]: nothing was seen",)),
        judged(name="", left=("domains 44, made as ct1-1z",)),
    )
    assert made.failures == [
        "grease 3: b.rule fell, and the server is right",
        "grease 3: undecided, c.rule[domains]: nothing was seen",
        "grease 3: left behind, domains 44, made as ct1-1z",
    ]


def test_under_a_hostile_condition_it_may_stay_undecided() -> None:
    made = proof(judged(name="quota", undecided=("c.rule[domains]: refused",), hostile=True))
    assert made.failures == []
    assert proof(judged("b.rule", name="quota", hostile=True)).failures == [
        "quota: b.rule fell, and the server is right"
    ]


def test_the_matrix_tells_what_fell_and_after_how_many_requests() -> None:
    made = proof(judged("a.rule", "a.consequence"), judged("a.rule"), judged(name=""))
    assert "| `total-is-one-more` | a.rule | 2 of 2 | a.consequence | 7 |" in markdown(made).splitlines()
    told = as_dict(made)["defects"][0]
    assert (told["verdict"], told["others"], told["requests"]) == ("caught", ["a.consequence"], 7)
    assert [trial["fell"] for trial in told["trials"]] == [["a.consequence", "a.rule"], ["a.rule"]]
