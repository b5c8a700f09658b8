from __future__ import annotations

import pytest

from contract_tests.cli import main


def test_rules_lists_every_rule_and_open_point(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules"]) == 0
    listed = capsys.readouterr().out
    assert "  pagination.next-is-null-on-last-page  (stated)\n    On the last page" in listed
    assert "  open.create-status  (here 201)\n" in listed
    assert listed.endswith("107 rules, 48 open points\n")
    assert max(map(len, listed.splitlines())) <= 90


def test_rules_explains_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["rules", "representations.color-is-hex"]) == 0
    explained = capsys.readouterr().out
    assert "A `color` is a number sign and six hex digits." in explained
    assert "Holds for  splash-pages\n" in explained


def test_an_unknown_rule_is_a_usage_error_with_the_nearest_names(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["rules", "forms.names-required"])
    assert ended.value.code == 4
    assert 'no rule "forms.names-required"; did you mean forms.name-required' in capsys.readouterr().err


def test_an_unknown_command_is_a_usage_error() -> None:
    assert main(["rule"]) == 4
