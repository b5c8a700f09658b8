"""Three servers of other people's habits conform as they are, and not with a slip that their developers make."""

from __future__ import annotations

import os

import pytest
from mutants.judge import SERVERS, Changed, judged, slips

SLIPS = {"django": "paginator-orphans", "express": "delete-by-id-alone", "php": "json-column-overwritten"}


@pytest.mark.parametrize("name", SERVERS)
def test_the_place_of_each_slip_is_there_once(name: str) -> None:
    planted = slips(SERVERS[name])
    assert len(planted) == 20
    assert len({each.source for each in planted} - {SERVERS[name].source}) == 20


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["php", *(pytest.param(name, marks=pytest.mark.exhaustive) for name in ("django", "express"))]
)
def test_a_server_conforms_without_a_slip_and_not_with_one(name: str) -> None:
    server = SERVERS[name]
    if not server.is_here and "CI" not in os.environ:
        pytest.skip(f"{server.command[0]} is not there; CONTRIBUTING.md says what these tests need")
    usual = judged(Changed(name, "as it is", server.source))
    assert (usual.word, usual.rules, usual.left) == ("conforms", (), 0)
    [slip] = [each for each in slips(server) if each.name == SLIPS[name]]
    assert judged(slip, explore=150, overlap=0).word.startswith("does not conform")
