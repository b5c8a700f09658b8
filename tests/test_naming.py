import pytest
from naming import is_weak


@pytest.mark.parametrize(
    "name", ["told", "each", "_again", "is_there", "MOST_READ", "of_writes", "asked_before", "Sent"]
)
def test_a_word_that_only_points_at_something_is_no_name(name: str) -> None:
    assert is_weak(name)


@pytest.mark.parametrize(
    "name", ["request", "is_listed", "MAX_READ", "listed_record", "after", "__call__", "left", "Judgement"]
)
def test_a_noun_a_verb_or_a_statement_is_a_name(name: str) -> None:
    assert not is_weak(name)
