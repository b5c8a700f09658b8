"""What an implementation chose where the contract leaves it open, as far as a run saw it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from contract_tests.exchange import OWN, Exchange
from contract_tests.survey.visit import ODD_SIZES

Seen = Callable[[Exchange], bool]


def observed(exchanges: Iterable[Exchange]) -> Iterator[tuple[str, str]]:
    """What was asked and what was answered, all different answers in the order of their numbers.

    Args:
        exchanges: all of a run.
    """
    every = list(exchanges)
    deleted = {_place(each) for each in every if _succeeds("delete")(each)}
    known = [each for each in every if each.request.operation != "read" or _place(each) in deleted]
    for label, matches in QUESTIONS.items():
        answers = sorted({_answer(each) for each in known if matches(each)})
        if answers:
            yield label, ", ".join(answers)


def _place(exchange: Exchange) -> tuple[str, int | None]:
    return exchange.request.kind, exchange.request.identifier


def _answer(exchange: Exchange) -> str:
    if exchange.redirects:
        return f"{exchange.redirects[0][0]} (a redirect)"
    if exchange.page and "results_per_page" in exchange.page.meta and exchange.request.expects == "open":
        return f"{exchange.status} with {exchange.page.meta['results_per_page']} on a page"
    return f"{exchange.status}" if exchange.body else f"{exchange.status} without a body"


def _succeeds(operation: str) -> Seen:
    return lambda each: each.request.operation == operation and each.request.expects == "success" and each.succeeded


def _asked(operation: str, expects: str, identity: str = OWN) -> Seen:
    def matches(each: Exchange) -> bool:
        request = each.request
        return (request.operation, request.expects, request.identity) == (operation, expects, identity)

    return matches


def _odd_size(each: Exchange) -> bool:
    return _asked("list", "open")(each) and each.request.asked.get("results_per_page") in ODD_SIZES


def _gone(each: Exchange) -> bool:
    return _asked("read", "open")(each) and each.record is None


QUESTIONS: dict[str, Seen] = {
    "a create answers": _succeeds("create"),
    "an update answers": _succeeds("update"),
    "a delete answers": _succeeds("delete"),
    "without a required field": _asked("create", "refusal"),
    "a read of a deleted record": _gone,
    "without a key, a list": _asked("list", "open", "no key"),
    "a page size of 7, 60 or 5000": _odd_size,
}
