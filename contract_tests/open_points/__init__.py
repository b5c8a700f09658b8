"""The choices of an implementation at the open points, as far as a run saw them.

Each detector takes a run's exchanges and yields the value of one open point wherever it shows. `UNSEEN` states for
each point without a detector why it has none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from contract_tests.exchange import Exchange
from contract_tests.open_points import answers, lists, records
from link_management_contract import Contract

DETECTORS = answers.DETECTORS | records.DETECTORS | lists.DETECTORS
REFUSED_FOR_ANYTHING = "Only odd requests meet it, and a refusal of those may have another reason."
UNSEEN = {
    "other-slash": "A run asks for documented paths alone.",
    "put-and-patch": "A run sends documented methods alone.",
    "scheme-letters": "A run spells the scheme as documented.",
    "host-taken": REFUSED_FOR_ANYTHING,
    "blank-required": REFUSED_FOR_ANYTHING,
    "bad-value": REFUSED_FOR_ANYTHING,
    "boolean-words": REFUSED_FOR_ANYTHING,
    "host-letters": "One odd request writes a host in capitals, and may be refused for another reason.",
    "url-form": "Most URLs of a run are written in the one usual way already.",
}


def observed(exchanges: Iterable[Exchange]) -> dict[str, Counter[str]]:
    """The values seen for each open point, by its name, each with a count; points without any are left out.

    A value that the contract does not know is a status or the like, reported as it was seen.
    """
    every = list(exchanges)
    seen = {name: Counter(look(every)) for name, look in DETECTORS.items()}
    return {name: values for name, values in seen.items() if values}


def profile(seen: dict[str, Counter[str]], contract: Contract) -> dict[str, str]:
    """The choices with which a mock behaves the same: for each point, the value seen most often."""
    chosen = {}
    for name, values in seen.items():
        known = Counter({each: values[each] for each in contract.open_points[name].values if values[each]})
        if known:
            chosen[name] = known.most_common(1)[0][0]
    return chosen


def remarks(exchanges: Iterable[Exchange]) -> list[str]:
    """What every client runs into though no rule forbids it: page links that lead to no page."""
    answers: dict[str, list[str]] = {}
    for resource, how in dict.fromkeys(lists.followed(list(exchanges))):
        if how != "served":
            answers.setdefault(how, []).append(resource)
    return [
        f"a page link that is followed as it stands is answered with {'a redirect' if how == 'redirected' else how}"
        f" ({', '.join(resources)}); ask the documented path for the page that the link names"
        for how, resources in answers.items()
    ]
