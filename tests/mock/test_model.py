"""The mock beside a dict: whatever is created, updated, deleted, read and listed, both say the same."""

from __future__ import annotations

from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from wire import ALPINE, HARBOUR, Client, in_process, mock

Key = tuple[str, str, int]
RESOURCES = ("splash-pages", "domains", "notification-handlers")
TYPES = ("email", "webhook", "slack", "discord", "telegram", "microsoft_teams")
accounts = st.sampled_from((HARBOUR, ALPINE))
names = st.text(st.characters(codec="utf-8"), min_size=1).filter(str.strip)
texts = st.text(st.characters(codec="utf-8"))


@st.composite
def forms(draw: st.DrawFn, resource: str, *, create: bool) -> dict[str, str]:
    optional = {
        "splash-pages": {"title": texts, "link_unlock_seconds": st.integers().map(str)},
        "domains": {"custom_index_url": texts, "custom_not_found_url": texts},
        "notification-handlers": {"email": texts, "telegram": texts, "telegram_chat_id": texts},
    }[resource]
    required = {
        "splash-pages": {"name": names},
        "domains": {"host": st.uuids().map(lambda value: f"{value}.example.com")},
        "notification-handlers": {"name": names, "type": st.sampled_from(TYPES)},
    }[resource]
    if create:
        return draw(st.fixed_dictionaries(required, optional=optional))
    if resource == "notification-handlers":
        optional["is_enabled"] = st.sampled_from(("0", "1"))
    return draw(st.fixed_dictionaries({}, optional=required | optional))


def effect(form: dict[str, str], handler_type: str | None) -> dict[str, Any]:
    """What a form changes in a record of this type: a type's own fields have no influence on another type."""
    own = {"email": {"email"}, "telegram": {"telegram", "telegram_chat_id"}}.get(handler_type or "", set())
    others = {"email", "telegram", "telegram_chat_id"} - own
    changed: dict[str, Any] = {name: value for name, value in form.items() if name not in others}
    if "is_enabled" in changed:
        changed["is_enabled"] = changed["is_enabled"] == "1"
    return changed


class MockBesideADict(RuleBasedStateMachine):
    records = Bundle("records")

    @initialize()
    def start(self) -> None:
        send = in_process(mock(fixture="empty"))
        self.clients = {key: Client(send, key) for key in (HARBOUR, ALPINE)}
        self.model: dict[Key, dict[str, Any]] = {}

    @rule(target=records, account=accounts, resource=st.sampled_from(RESOURCES), data=st.data())
    def create(self, account: str, resource: str, data: st.DataObject) -> Key:
        form = data.draw(forms(resource, create=True))
        path = {"splash-pages": "/api/projects"}.get(resource, f"/api/{resource}")
        key = account, resource, self.clients[account].create(path, form)
        assert key not in self.model
        starts = {"is_enabled": resource == "notification-handlers", "custom_index_url": ""}
        self.model[key] = starts | effect(form, form.get("type"))
        self.compare(key)
        return key

    @rule(key=records, data=st.data())
    def update(self, key: Key, data: st.DataObject) -> None:
        account, resource, identifier = key
        form = data.draw(forms(resource, create=False))
        answer = self.clients[account].post(f"/api/{resource}/{identifier}", form)
        assert answer.json == {"data": {"id": identifier}}
        self.model[key] |= effect(form, form.get("type", self.model[key].get("type")))
        self.compare(key)

    @rule(key=consumes(records))
    def delete(self, key: Key) -> None:
        account, resource, identifier = key
        assert self.clients[account].delete(f"/api/{resource}/{identifier}").status == 200
        del self.model[key]
        assert self.clients[account].get(f"/api/{resource}/{identifier}").status == 404

    @rule(key=records)
    def read_with_the_other_key(self, key: Key) -> None:
        account, resource, identifier = key
        other = self.clients[ALPINE if account == HARBOUR else HARBOUR]
        assert other.get(f"/api/{resource}/{identifier}").status == 404

    @rule(key=records)
    def compare(self, key: Key) -> None:
        account, resource, identifier = key
        shown = self.clients[account].get(f"/api/{resource}/{identifier}").json["data"]
        expected = {name: value for name, value in self.model[key].items() if name in shown}
        assert shown.items() >= expected.items()
        if shown.get("type") == "email":
            assert shown["settings"] == {"email": self.model[key].get("email", "")}

    @invariant()
    def lists_hold_what_the_dict_holds(self) -> None:
        for account, client in getattr(self, "clients", {}).items():
            for resource in RESOURCES:
                expected = sorted(key[2] for key in self.model if key[:2] == (account, resource))
                page = client.get(f"/api/{resource}/?results_per_page=1000").json
                assert [record["id"] for record in page["data"]] == expected[::-1]
                assert page["meta"]["total"] == len(expected)


@pytest.mark.parametrize(
    ("store", "examples"),
    [
        ("memory", 8),
        pytest.param("redis", 5, marks=pytest.mark.slow),
        *(pytest.param(store, 30, marks=pytest.mark.exhaustive) for store in ("memory", "redis")),
    ],
    indirect=["store"],
)
def test_the_mock_says_what_a_dict_says(store: str, examples: int) -> None:
    usual = settings(max_examples=examples, stateful_step_count=30, deadline=None, derandomize=True)
    run_state_machine_as_test(MockBesideADict, settings=usual)
