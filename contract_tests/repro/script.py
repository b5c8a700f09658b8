"""A finding as a shell script that needs curl alone: it creates what it needs, shows the failure, and tidies up.

Requests of a run are put for a shell here: as one curl command, and as words of a script with a mark of its own.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from shlex import quote

from contract_tests.evidence.exchange import OTHER, OWN_KEY, Exchange, Request
from contract_tests.evidence.multipart import USUAL, encode
from contract_tests.evidence.observation import Violation
from contract_tests.repro.replayed import RUN_MARKER
from contract_tests.repro.steps import steps_to
from contract_tests.repro.transcript import plan_of
from contract_tests.repro.trial import BROKEN
from contract_tests.target.identities import IDENTITIES
from contract_tests.verdicts.verdicts import Outcome, Result, ShortestSteps
from link_management_contract import Contract, Resource, Rule
from link_management_contract.texts import printable

HEAD = Path(__file__).with_name("repro.sh")
ESCAPES = {byte: chr(byte) for byte in range(32, 127) if chr(byte) not in "\\'"} | {ord("%"): "%%"}  # for printf
CURL = "curl -gsS --max-time 30 ${CURL_OPTIONS:-}"
VERDICT = """command -v contract-tests >/dev/null || { echo 'no verdict: contract-tests is not installed'; exit 125; }
contract-tests verdict "$dir/answers" --base-url "$base" --mark "$mark" <<'PLAN'"""
SECOND_KEY = (
    """[ "${CONTRACT_SECOND_API_KEY:-}" ] || { echo 'CONTRACT_SECOND_API_KEY is not set; set it to the key of another"""
    """ account' >&2; exit 125; }"""
)
NO_VERDICT = "echo 'no verdict: compare the answers; overlapping requests show it in some tries only'; exit 125"
SHOWED_IT = "It showed the failure when the run tried it."
NOT_TRIED = "The run has not tried it, so it says only that the rule is broken, or nothing."
VARIES = "The run also saw times that are right, so it says only that the rule is broken, or nothing."
SHOWED_NOTHING = "It showed no failure when the run tried it: what the run saw needs more than these requests."
RETRY_LOOP = "for try in 1 2 3; do  # as what fails once may work the next time"
MAX_REQUESTS, BURST_SIZE = 4, 10  # requests that overlap; more are a burst
PARALLEL_CURL = CURL.removeprefix("curl ") + " -H @\"$key\" -w '%{http_code} %{method}\\n'"


@dataclass(frozen=True)
class Script:
    """A script, where its requests go, and the exchanges that it repeats and shows, in order."""

    text: str
    base_url: str
    exchanges: tuple[Exchange, ...]


def script(  # noqa: PLR0913, PLR0917 - what was found, where, and how to show it
    base_url: str,
    rule: Rule,
    resource: Resource,
    finding: Violation,
    exchanges: Sequence[Exchange],
    shortest: ShortestSteps | None = None,
    public_base_url: str | None = None,
    script_status: int | None = None,
    *,
    varies: bool = False,
) -> Script:
    """The script for a finding about a resource, whose requests went to a base URL.

    Args:
        shortest: the fewest requests that show it, if they are known.
        public_base_url: what page links must begin with, if not the base URL.
        script_status: its exit status when the run tried it; None if it did not.
        varies: whether it may show nothing although nothing was mended.
    """
    exchange_shown = shortest.finding.exchange if shortest else finding.exchange
    steps = shortest.exchanges if shortest else steps_to(rule, resource, finding, exchanges)
    head, values = (
        HEAD.read_text(encoding="utf-8"),
        {"rule": rule.id, "resource": resource.name, "base_url": quote(base_url)},
    )
    values |= {
        "statement": rule.statement,
        "expected": printable(finding.expected),
        "received": printable(finding.received),
    }
    values |= {"record_path": resource.record_path, "list_path": resource.list_path}
    values["tried"] = NOT_TRIED if script_status is None else SHOWED_IT if script_status == BROKEN else SHOWED_NOTHING
    values["tried"] += f" {VARIES}" if varies else ""
    values["trace"] = finding.exchange.trace or "none"
    for name, value in values.items():
        head = head.replace(f"@{name}@", " ".join(value.split()))
    ids, deleted_ids = dict[int, str](), set[int]()
    lines = [SECOND_KEY] if any(exchange.request.identity == OTHER for exchange in steps) else []
    for number, exchange in enumerate(steps, 1):
        step = _lines(number, exchange, ids, deleted_ids, is_shown=exchange.number == exchange_shown.number)
        if "datetime" in rule.id and exchange.request.operation == "update":
            lines.append("sleep 1  # times are told in seconds")
        lines += [RETRY_LOOP, *step, "done"] if exchange.attempts or exchange.is_usual else step
    lines += parallel_lines(finding, ids, resource)
    texts = " ".join(quote(printable(" ".join(text.split()))) for text in (finding.expected, finding.received))
    lines.append(f"printf '\\n--- expected: %s\\n--- received: %s, in the run\\n' {texts}")
    if finding.exchanges or script_status not in (None, BROKEN):
        lines += [NO_VERDICT if finding.exchanges else f"echo 'no verdict: {SHOWED_NOTHING}'; exit 125"]
    else:
        lines += [
            VERDICT,
            plan_of(rule, resource, steps, exchange_shown.number, public_base_url, None if varies else script_status),
            "PLAN",
        ]
    return Script(head + "\n".join(lines) + "\n", base_url, tuple(steps))


def scripts(contract: Contract, outcome: Outcome) -> dict[str, str]:
    """The scripts that show failures again, but for those that may hit what others have."""
    repeatable = (result for result in outcome.failing if result.findings[0].is_repeatable)
    return {file_of(result.rule.id): script_of(contract, outcome, result).text for result in repeatable}


def script_of(contract: Contract, outcome: Outcome, result: Result, script_status: int | None = None) -> Script:
    """The script for a result.

    Args:
        script_status: its exit status when it was tried; as the run has noted it, if None.
    """
    resource, (shrunk_resource, shortest) = result.resource, outcome.shortest.get(result.rule.id, ("", None))
    subject = (outcome.base_url, result.rule, contract.resources[resource], result.findings[0], outcome.exchanges)
    shortest = shortest if shrunk_resource == resource else None
    script_status = outcome.script_statuses.get(result.id) if script_status is None else script_status
    varies = "datetime" in result.rule.id and result.witnesses > 0
    return script(*subject, shortest, outcome.public_base_url, script_status, varies=varies)


def file_of(rule: str) -> str:
    return f"repro/{rule}.sh"


def _lines(number: int, exchange: Exchange, ids: dict[int, str], deleted_ids: set[int], *, is_shown: bool) -> list[str]:
    """The lines of a step; a title of each is printed, and shows which answer is the wrong one.

    Args:
        ids: the names of the script's variables for its own records.
        deleted_ids: which of these it has deleted.
    """
    request, path = exchange.request, _path(exchange.request, ids)
    prepared, arguments = form(number, request)
    curl = "api" if request.identity == OWN_KEY else f"{CURL} {_hidden(IDENTITIES[request.identity].curl)}".rstrip()
    if request.method != "GET" and not arguments:
        arguments = ["-X", request.method]
    if exchange.redirects and exchange.status != exchange.redirects[-1][0]:  # to the same host, as the run has seen
        arguments = ["-L", *arguments]
    key_note = "" if request.identity == OWN_KEY else f" with {request.identity}"
    title = f'"{number}. {request.method} {path}{key_note}{" <-- this answer" if is_shown else ""}"'
    line = " ".join([title, curl, *arguments, f'"$base{path}"'])
    if request.operation == "create":
        id_list = "theirs" if request.identity == OTHER else "made"
        lines = [*prepared, f"create {line}", f'{id_list}="${id_list} $id"']
        if request.identity != OWN_KEY or exchange.made_id is None:
            return lines
        ids[exchange.made_id] = f"id_{number}"
        return [*lines, f"id_{number}=$id"]
    if request.method == "GET" or request.identifier is None:
        return [*prepared, f"step {line}"]
    identifier = f'"${ids[request.identifier]}"' if request.identifier in ids else str(request.identifier)
    foreign = f"foreign {identifier} {curl} && " if request.identity == OTHER else ""
    check = f"mine {identifier}"
    if request.method == "DELETE":
        line = f"forget {identifier}; step {line}"
        deleted_ids.add(request.identifier)
    else:
        line = f"step {line}"
        check = f"{{ {check} || absent {identifier}; }}" if request.identifier in deleted_ids else check
    return [*prepared, f"{check} && {foreign}{{ {line}; true; }} || skipped {number}"]


def _hidden(arguments: str) -> str:
    """The arguments of curl that send a key, with a header's text in a file."""
    return re.sub(r'-H ("Authorization: .*")$', r'-H @"$(hide \1)"', arguments)


def shows_key(exchange: Exchange) -> bool:
    """Whether curl gets a key among its arguments, which everybody on the machine sees."""
    arguments = IDENTITIES[exchange.request.identity].curl if exchange.request.identity in IDENTITIES else ""
    return "API_KEY" in arguments and not arguments.startswith('-H "Authorization: ')


def _path(request: Request, ids: dict[int, str]) -> str:
    """The path and query of a request, with the id of the script's own record, between double quotes of a shell."""
    if request.identifier not in ids:
        return quoted(request.target)
    return quoted(request.target.replace(f"/{request.identifier}", f"/${ids[request.identifier or 0]}", 1))


def curl(base_url: str, request: Request) -> str:
    """The curl command of a request without files; keys come from the environment."""
    parts = ["curl", "-i", *(["-g"] if re.search(r"[][{}]", base_url + request.target) else [])]
    if request.method != "GET" and request.form is None and request.body is None:
        parts += ["-X", request.method]
    parts += [IDENTITIES[request.identity].curl] if request.identity in IDENTITIES else []
    parts += ["-H", quote("Transfer-Encoding: chunked")] if request.form_style.chunked else []
    for name, value in (request.form or {}).items():
        parts += ["--form-string", quote(f"{name}={value}")]
    if request.body is not None:
        parts += ["-H", quote(f"Content-Type: {request.body[0]}"), "--data-binary", quote(request.body[1].decode())]
    return " ".join([*filter(None, parts), quote(f"{base_url}{request.target}")])


def form(number: int, request: Request) -> tuple[list[str], list[str]]:
    if request.body is not None:
        media_type, body = request.body
    elif request.form is not None and request.form_style != USUAL:
        body, media_type = encode(request.form, request.form_style)
    else:
        return _fields(number, request)
    file = f'"$dir/{number}"'
    arguments = ["-H", f'"Content-Type: {quoted(media_type)}"', "--data-binary", f"@{file}"]
    return [printf(body, file)], arguments + (
        ["-H", '"Transfer-Encoding: chunked"'] if request.form_style.chunked else []
    )


def _fields(number: int, request: Request) -> tuple[list[str], list[str]]:
    prepared, arguments = [], list[str]()
    for name, value in (request.form or {}).items():
        if isinstance(value, str):
            arguments += ["--form-string", f'"{quoted(f"{name}={value}")}"']
        else:
            file = f'"$dir/{number}-{name}"'
            prepared.append(printf(value[1], file))
            arguments += ["-F", f'{name}=@{file}\\;filename="{quoted(value[0])}"\\;type={value[2]}']
    return prepared, arguments


def printf(content: bytes, file: str) -> str:
    """A line that writes a file, whatever is in it; the marks of the run become those of the script."""
    text = content.decode("latin-1")  # a letter for each byte
    variables = [f'"{_variable(match)}"' for match in RUN_MARKER.finditer(text)]
    pieces = RUN_MARKER.split(text)[::2]  # without what its group finds
    escaped_pieces = ["".join(ESCAPES.get(ord(letter), f"\\{ord(letter):03o}") for letter in piece) for piece in pieces]
    return " ".join([f"printf -- '{'%s'.join(escaped_pieces)}'", *variables, f"> {file}"])


def _variable(match: re.Match[str]) -> str:
    """The script's mark for one of the run's."""
    return f"${'upper' if match[0].isupper() else 'mark'}-{match[1]}"


def quoted(text: str) -> str:
    """A text between double quotes of a shell, with the script's mark for the run's; `$` stands for an id in a path."""
    escaped_text = re.sub(r'(["\\`]|\$(?!id_\d))', r"\\\1", text)
    escaped_text = RUN_MARKER.sub(_variable, escaped_text)
    return "$(printf '\\r')".join(escaped_text.split("\r"))


def _select_requests(requests: list[Request]) -> list[Request]:
    """Four requests that overlap, the writes among them; all of a burst, whose failure is that there are so many."""
    writes = [request for request in requests if request.method != "GET"]
    reads = [request for request in requests if request.method == "GET"]
    return requests if len(requests) > BURST_SIZE else [*writes, *reads[: MAX_REQUESTS - len(writes)]]


def parallel_lines(finding: Violation, ids: dict[int, str], resource: Resource) -> list[str]:
    """The lines that send overlapping requests by one curl, and look at what they led to."""
    lines, parts, output_lines, guards = list[str](), list[str](), list[str](), dict[str, str]()
    for number, request in enumerate(_select_requests([exchange.request for exchange in finding.exchanges]), 1):
        if request.method != "GET" and request.identifier is not None and request.identifier not in ids:
            return ["# These requests write to a record that this script does not create, so it sends none of them."]
        prepared, arguments = form(number, request)
        lines += prepared
        if request.method != "GET" and request.identifier is not None:
            name = ids[request.identifier]
            guards[name] = f"""mine "${name}" || {{ skipped 'at one moment'; exit 125; }}"""
        file, method = f'"$dir/at-once-{number}"', [] if arguments else ["-X", request.method]
        parts.append(" ".join([PARALLEL_CURL, "-o", file, *method, *arguments, f'"$base{_path(request, ids)}"']))
        output_lines.append(f"cat {file}; echo")
        output_lines += [f'made="$made $(id_in {file})"'] if request.operation == "create" else []
    if not parts:
        return []
    subject = next((f'"$base{resource.record_path}${name}"' for name in ids.values()), f'"$base{resource.list_path}"')
    return [
        "# Not each try shows it: run this again if it does not.",
        *lines,
        *guards.values(),
        "printf '\\n--- at one moment\\n'",
        f"curl --no-progress-meter --parallel --parallel-immediate {' --next '.join(parts)}",
        *output_lines,
        f'step "afterwards <-- this answer" api {subject}',
    ]
