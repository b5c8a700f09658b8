"""Trouble around a correct server: slow networks, gateways, replicas, limits, plans, other users."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING

from mock_server.defects.call import Transformation
from mock_server.effects import limits, network
from mock_server.errors import SettingsError
from mock_server.http.broken_answers import cut_off, dropped, dropped_after

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIApplication

MOST = 1000


@dataclass(frozen=True)
class Condition:
    """A kind of trouble around a correct server.

    Attributes:
        what: what happens, with the measure as `N`.
        measures: the usual measure, and perhaps another worth trying.
        around: takes an application, the measure and a factory of servers like it, and returns the application under
            this condition; or None.
        allowed: the valid measures; if empty, any from 0 to 1,000.
        within: takes the measure, and returns the transformation of calls; or None.
        travels: whether it can stand in front of a real deployment, too.
    """

    what: str
    measures: tuple[float, ...] = (0,)
    around: Callable[[WSGIApplication, float, Callable[[], WSGIApplication]], WSGIApplication] | None = None
    within: Callable[[float], Transformation] | None = None
    allowed: tuple[float, ...] = ()
    travels: bool = False


CONDITIONS = {
    "latency": Condition("each answer takes N seconds longer", (0.05,), network.waiting(repeat), travels=True),
    "lag": Condition("reads show a write N seconds after it was made", (0.3, 0.9), network.Replica),
    "gateway-errors": Condition(
        "one request in N is answered with 502, every other time once the server did its work",
        (40,),
        network.now_and_then(network.failed),
        travels=True,
    ),
    "retry-after": Condition(
        "one request in N is one too many, and told in how many seconds it may be sent again",
        (40,),
        network.limited(Retry_After="1"),
        travels=True,
    ),
    "rate-limit-reset": Condition(
        "likewise, told by X-RateLimit-Reset alone", (40,), network.limited(X_RateLimit_Reset="1"), travels=True
    ),
    "too-many": Condition("likewise, and not told when", (40,), network.limited(), travels=True),
    "rate-limit": Condition("an account may send N requests in a minute", (600,), within=limits.rate_limit),
    "latency-up-to": Condition(
        "each answer takes up to N seconds longer, by chance", (0.05,), network.waiting(network.by_chance), travels=True
    ),
    "slow-body": Condition(
        "the body of each answer comes N seconds behind its head", (0.02,), network.late_body, travels=True
    ),
    "dropped-before": Condition(
        "one request in N is not carried out, and its connection closed",
        (40,),
        network.now_and_then(lambda _turn, _inner, *request: dropped(*request)),
        travels=True,
    ),
    "dropped-after": Condition(
        "one request in N is carried out, and its connection closed without an answer",
        (40,),
        network.now_and_then(lambda _turn, *rest: dropped_after(*rest)),
        travels=True,
    ),
    "cut-off": Condition(
        "one answer in N breaks off in the middle of its body",
        (40,),
        network.now_and_then(lambda _turn, *rest: cut_off(*rest)),
        travels=True,
    ),
    "connection-close": Condition(
        "each connection is closed behind its answer", around=network.answering(network.closed), travels=True
    ),
    "compressed": Condition(
        "each answer is compressed, if the client takes that", around=network.answering(network.compressed)
    ),
    "redirecting-proxy": Condition(
        "a proxy redirects each read, with status N", (307,), network.redirected, allowed=(301, 302, 303, 307, 308)
    ),
    "quota": Condition("an account may have N records of each resource", (6,), within=limits.quota),
    "plan-without-writes": Condition(
        "the account's plan has no writes", within=lambda _: limits.refusing(402, limits.writes)
    ),
    "plan-without-types": Condition(
        "the plan has no handlers for Discord and Telegram", within=limits.plan_without_types
    ),
    "other-writer": Condition(
        "with one call in N, another user adds a record to the first account, or removes one",
        (11, 25, 60),
        within=limits.others,
    ),
    "other-editor": Condition(
        "with one call in N, another user changes one of the first account's older records",
        (25, 10, 60),
        within=limits.on_old_records("update"),
    ),
    "other-remover": Condition(
        "with one call in N, another user deletes one of the first account's older records",
        (25, 10, 60),
        within=limits.on_old_records("delete"),
    ),
    "chunked": Condition("each answer comes in pieces", around=network.answering(network.chunked)),
}


def parsed(text: str) -> tuple[str, float]:
    """The name and the measure of a condition, such as `lag=0.3`; the usual measure if none is given.

    Raises:
        ValueError: if the measure is no number.
    """
    name, equals, measure = text.partition("=")
    try:
        return name, float(measure) if equals or name not in CONDITIONS else CONDITIONS[name].measures[0]
    except ValueError:
        raise ValueError(f'"{text}" is no condition; give NAME or NAME=N, such as lag=0.3') from None


def check(measures: Mapping[str, float], *, forwarded: bool = False, shared: bool = False) -> None:
    """Refuse unknown conditions and invalid measures.

    Args:
        measures: the measure of each condition.
        forwarded: whether requests are forwarded to a deployment.
        shared: whether several processes share the records.

    Raises:
        SettingsError: if there is one; the message names it.
    """
    for name, measure in measures.items():
        if name not in CONDITIONS:
            raise SettingsError(f'no condition "{name}"; conditions are {", ".join(CONDITIONS)}')
        if forwarded and not CONDITIONS[name].travels:
            known = ", ".join(each for each, condition in CONDITIONS.items() if condition.travels)
            raise SettingsError(f'the condition "{name}" does not apply in front of a deployment; these do: {known}')
        allowed = CONDITIONS[name].allowed
        if allowed and measure not in allowed:
            raise SettingsError(
                f'the condition "{name}" is {measure!r}; expected one of {", ".join(map(str, allowed))}'
            )
        if isinstance(measure, bool) or not isinstance(measure, int | float) or not 0 <= measure <= MOST:
            raise SettingsError(f'the condition "{name}" is {measure!r}; expected a number from 0 to {MOST}')
        if shared and CONDITIONS[name].around is network.Replica:
            raise SettingsError(
                f'the condition "{name}" needs a second mock with records of its own; leave --store out'
            )
