"""Puts accounts that are in memory into a store."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict
from datetime import datetime

from link_management_contract import Resource
from mock_server.settings import Settings
from mock_server.shared.collection import SharedCollection
from mock_server.shared.places import Place, arranged, seconds
from mock_server.shared.store import Space
from mock_server.store.accounts import Accounts
from mock_server.store.collection import Collection
from mock_server.store.records import NONE

AT_ONCE = 500  # generated records


def begin(memory: Accounts, settings: Settings, resources: Iterable[Resource], space: Space) -> None:
    """Put all accounts into a store.

    Args:
        memory: the accounts.
        settings: further keys, and how many records are generated.
        resources: the resources.
        space: where they come.
    """
    accounts = {key: account for key in memory.keys if (account := memory.get(key))}
    first = next(iter(accounts))
    bases = {key: number for number, key in enumerate(accounts) if key not in settings.api_keys}
    last = {each.name: accounts[first].collections[each.name].ids.last for each in resources}
    begun = {"keys": memory.keys, "bases": bases, "records": settings.records, "last": last}
    begun["start"] = seconds(memory.now)
    for key, number in bases.items():
        for each in resources:
            load(space, number, each, accounts[key].collections[each.name])
    commands = [["SET", space.key("ids", name), str(identifier)] for name, identifier in last.items()]
    commands += [["SET", space.key("now"), seconds(memory.now)], ["SET", space.key("begun"), json.dumps(begun)]]
    for number, (key, name) in enumerate(memory.keys.items(), len(bases)):
        place = Place(number, bases.get(key, bases[first]), name, shares_ids=key in bases)
        commands += [["HSET", space.key("places"), key, json.dumps(asdict(place))]]
        commands += beginning(space, place, last, memory.now)
    commands += [["SET", space.key("count"), str(len(bases) + len(accounts))]]
    space.store.ask_all(commands)


def beginning(space: Space, place: Place, last: dict[str, int], now: datetime) -> list[list[str]]:
    """The commands that give a place its clock, its ids and the count of what is written there."""
    number = str(place.number)
    ids = (
        [] if place.shares_ids else [["SET", space.key("ids", name, number), str(each)] for name, each in last.items()]
    )
    return [["SET", space.key("clock", number), seconds(now)], ["HSET", space.key("written"), number, "0"], *ids]


def load(space: Space, number: int, resource: Resource, collection: Collection) -> None:
    """Put the records of a collection in memory into a place of their own."""
    arrangement = arranged(resource, "", lambda last: last + 1)
    there = SharedCollection(space, Place(number, number, ""), resource.name, arrangement, NONE)
    place = space.key(str(number), resource.name)
    commands = [["SET", f"{place}:own", "1"]]
    for record in collection.made:
        commands += [[name, place + key, *more] for name, key, *more in there.putting(record)]
    space.store.ask_all(commands)
    generated = collection.generated
    for start in range(0, len(generated.ids), AT_ONCE):
        listed = [
            command
            for each in generated.ids[start : start + AT_ONCE]
            for command in there.listing(generated.make(each))
        ]
        for part in (":ids", ":names"):
            pairs = [text for _, key, *more in listed if key == part for text in more]
            space.store.ask("ZADD", place + part, *pairs)
