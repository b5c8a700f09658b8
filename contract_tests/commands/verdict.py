"""The command `contract-tests verdict`, with which the script of a finding ends."""

import json
import sys

from contract_tests.evidence.observation import Violation
from contract_tests.options import VerdictOptions
from contract_tests.output import complain, say
from contract_tests.repro.transcript import judge_answers
from contract_tests.repro.trial import BROKEN, FIXED, UNCLEAR
from link_management_contract import Contract


def verdict_command(contract: Contract, options: VerdictOptions) -> int:
    """Judge the answers that a script printed; standard input says what it repeats.

    Returns:
        1 if its rule is broken, 0 if it is satisfied, 125 if the answers show neither.
    """
    try:
        plan = json.load(sys.stdin)
        observation = judge_answers(contract, plan, options.answers, options.base_url, options.mark)
    except (OSError, ValueError, LookupError, TypeError) as error:
        complain(f"no verdict: what the script printed cannot be read ({error})")
        return UNCLEAR
    if isinstance(observation, Violation):
        say(f"expected {observation.expected}, received {observation.received}: broken")
        return BROKEN
    say("fixed: the answers keep the rule" if observation else "no verdict: the answers show neither broken nor fixed")
    return FIXED if observation else UNCLEAR
