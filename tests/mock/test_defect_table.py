"""The tables of defects: what a mistake in one is told."""

from __future__ import annotations

import pytest
from wire import Client, in_process

from link_management_contract import shipped_contract
from mock_server import Settings, create_app
from mock_server.defects import DEFECTS
from mock_server.defects.building_blocks import refuses
from mock_server.defects.table import by_name, defect

RULES = shipped_contract().rules
LISTS = RULES["operations.list-answers"]
ROW = defect("lists-fail", "Each list fails.", refuses("list", 500))


def test_a_name_that_is_given_twice_is_refused() -> None:
    with pytest.raises(ValueError, match='two defects are called "lists-fail"; name one of them otherwise'):
        by_name({"a.b": [ROW], "c.d": [ROW]}, RULES | {"a.b": LISTS, "c.d": LISTS})


def test_a_rule_that_the_contract_does_not_have_is_refused() -> None:
    with pytest.raises(ValueError, match=r'breaks "operations\.lists-answer", which'):
        by_name({"operations.lists-answer": [ROW]}, RULES)


def test_a_defect_leaves_resources_alone_that_its_rule_does_not_cover() -> None:
    client = Client(in_process(create_app(Settings(defects=("color-lacks-its-sign", "settings-are-null")))))
    assert [client.get(f"/api/{each}/1").status for each in ("splash-pages", "domains", "notification-handlers")] == (
        [200, 200, 200]
    )
    assert DEFECTS["color-lacks-its-sign"].resources == ("splash-pages",)
