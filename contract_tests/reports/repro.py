"""A finding as a shell script that needs curl alone: it creates what it needs, shows the failure, and tidies up.

Requests of a run are put for a shell here: as one curl command, and as words of a script with a mark of its own.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Any

from contract_tests.exchange import OTHER, OWN, Exchange, Request, id_of
from contract_tests.multipart import USUAL, encode
from contract_tests.observation import Violation
from contract_tests.target.identities import IDENTITIES
from contract_tests.verdicts import VIOLATED, Outcome
from link_management_contract import Contract, Resource, Rule

HEAD = Path(__file__).with_name("templates") / "repro.sh"
MOST_UPDATES, MOST_RECORDS, MOST_LISTS = 6, 30, 12
MARK = re.compile(r"ct\d+x?[0-9a-f]*-(\d+z)")  # what marks a record of a run
ESCAPES = {byte: chr(byte) for byte in range(32, 127) if chr(byte) not in "\\'"} | {ord("%"): "%%"}  # for printf
CURL = "curl -sS --max-time 30 ${CURL_OPTIONS:-}"
AT_ONCE = CURL.removeprefix("curl ") + " -H \"Authorization: Bearer $key\" -w '%{http_code} %{method}\\n'"


@dataclass(frozen=True)
class Script:
    """A script, where its requests go, and the exchanges that it repeats and shows, in order."""

    text: str
    base_url: str
    exchanges: tuple[Exchange, ...]


def script(base_url: str, rule: Rule, resource: Resource, finding: Violation, exchanges: Sequence[Exchange]) -> Script:
    """The script for a finding about a resource, whose requests went to a base URL."""
    own = [each for each in exchanges if each.request.resource == resource.name]
    steps = list(_create_of(finding, own) if finding.together else _steps(rule, finding, own))
    head, values = HEAD.read_text(encoding="utf-8"), {"rule": rule.id, "resource": resource.name, "base_url": base_url}
    values |= {"statement": rule.statement, "expected": finding.expected, "received": finding.received}
    values |= {"record_path": resource.record_path, "list_path": resource.list_path}
    values["trace"] = finding.exchange.trace or "none"
    for name, value in values.items():
        head = head.replace(f"@{name}@", " ".join(value.split()))
    ids: dict[int, str] = {}
    lines: list[str] = []
    for number, exchange in enumerate(steps, 1):
        lines += _lines(number, exchange, ids, is_it=exchange.number == finding.exchange.number)
    lines += at_once(finding, ids, resource)
    texts = " ".join(quote(" ".join(text.split())) for text in (finding.expected, finding.received))
    lines.append(f"printf '\\n--- expected: %s\\n--- received: %s, in the run\\n' {texts}")
    return Script(head + "\n".join(lines) + "\n", base_url, tuple(steps))


def scripts(contract: Contract, outcome: Outcome) -> dict[str, str]:
    """A script for each violated rule, by its name in the folder of reports."""
    return {
        file_of(result.rule.id): script(
            outcome.base_url, result.rule, contract.resources[result.resource], result.findings[0], outcome.exchanges
        ).text
        for result in reversed(outcome.results)  # of several resources, the first
        if result.verdict in VIOLATED
    }


def file_of(rule: str) -> str:
    return f"repro/{rule}.sh"


def _steps(rule: Rule, finding: Violation, every: list[Exchange]) -> Iterator[Exchange]:
    """The fewest requests that can lead to a finding: the writes that its answer may depend on, and looks at them."""
    exchange = finding.exchange
    request = exchange.request
    earlier = [each for each in every if each.number < exchange.number and each.request.identity == OWN]
    kept: dict[int, Exchange] = {}
    for identifier in _about(rule, finding, earlier):
        kept |= {each.number: each for each in _life(identifier, earlier)}
    if request.operation == "list":
        kept |= {each.number: each for each in _there(earlier)}
    if request.operation == "create" and request.form:
        kept |= {each.number: each for each in earlier if each.made_id and _alike(each.request, request)}
    if rule.decided_by == "state":
        kept |= {each.number: each for each in _looks(exchange, earlier, kept)}
    kept[exchange.number] = exchange
    yield from (kept[number] for number in sorted(kept))
    yield from _after(exchange, every)


def _about(rule: Rule, finding: Violation, earlier: list[Exchange]) -> set[Any]:
    exchange = finding.exchange
    ids = {exchange.request.identifier} - {None}
    row = re.match(r"/data/(\d+)", finding.at)
    if row and isinstance(exchange.data, list):
        ids.add(id_of(exchange.data[int(row[1])]))
    writes = [each for each in earlier if each.request.operation in ("update", "delete")]
    if exchange.request.operation == "list" and writes and rule.decided_by == "state":
        ids.add(writes[-1].request.identifier)
    return ids


def _life(identifier: Any, earlier: list[Exchange]) -> list[Exchange]:
    """The create of a record, and the latest of what was done to it since."""
    creates = [each for each in earlier if each.request.operation == "create" and each.made_id == identifier]
    if not creates:
        return []
    since = [each for each in earlier if each.number > creates[-1].number and each.request.identifier == identifier]
    reads = [each for each in since if each.request.operation == "read"][:1]
    return [creates[-1], *reads, *[each for each in since if each.request.method != "GET"][-MOST_UPDATES:]]


def _there(earlier: list[Exchange]) -> list[Exchange]:
    """The creates of the run's records that are there."""
    gone = {each.request.identifier: each.number for each in earlier if each.request.operation == "delete"}
    creates = [each for each in earlier if each.request.operation == "create" and each.made_id]
    return [each for each in creates if gone.get(each.made_id, 0) < each.number][-MOST_RECORDS:]


def _alike(one: Request, other: Request) -> bool:
    labels = [str((each.form or {}).get("name") or (each.form or {}).get("host")).casefold() for each in (one, other)]
    return labels[0] == labels[1]


def _looks(exchange: Exchange, earlier: list[Exchange], kept: dict[int, Exchange]) -> list[Exchange]:
    """The lists since the last write, one before it, and the latest read of the same record."""
    wrote = max((number for number, each in kept.items() if each.request.method != "GET"), default=0)
    lists = [each for each in earlier if each.request.operation == "list" and each.succeeded]
    reads = [
        each
        for each in earlier
        if each.request.operation == "read" and each.request.identifier == exchange.request.identifier
    ]
    before = [each for each in lists if each.number < wrote][-1:]
    return before + [each for each in lists if each.number > wrote][-MOST_LISTS:] + reads[-1:]


def _after(exchange: Exchange, every: list[Exchange]) -> Iterator[Exchange]:
    """Looks at what a write has done, as the account."""
    request = exchange.request
    if request.method == "GET":
        return
    identifier = exchange.made_id if request.operation == "create" else request.identifier
    read = next((each for each in every if each.request.operation == "read" and each.request.identity == OWN), None)
    if read is not None and identifier is not None:
        path = f"{read.request.path.rpartition('/')[0]}/{identifier}"
        yield replace(read, request=replace(read.request, path=path, identifier=identifier, query=()))
    yield from [each for each in every if each.request.operation == "list" and each.request.identity == OWN][:1]


def _lines(number: int, exchange: Exchange, ids: dict[int, str], *, is_it: bool) -> list[str]:
    """The lines of a step; a title of each is printed, and shows which answer is the wrong one."""
    request, path = exchange.request, _path(exchange.request, ids)
    prepared, arguments = form(number, request)
    curl = "api" if request.identity == OWN else f"{CURL} {IDENTITIES[request.identity].curl}".rstrip()
    if request.method != "GET" and not arguments:
        arguments = ["-X", request.method]
    whose = "" if request.identity == OWN else f" with {request.identity}"
    title = f'"{number}. {request.method} {path}{whose}{" <-- this answer" if is_it else ""}"'
    line = " ".join([title, curl, *arguments, f'"$base{path}"'])
    if request.operation == "create":
        made = "theirs" if request.identity == OTHER else "made"
        lines = [*prepared, f"create {line}", f'{made}="${made} $id"']
        if request.identity != OWN or exchange.made_id is None:
            return lines
        ids[exchange.made_id] = f"id_{number}"
        return [*lines, f"id_{number}=$id"]
    if request.method == "GET" or request.identifier is None:
        return [*prepared, f"step {line}"]
    written = f'"${ids[request.identifier]}"' if request.identifier in ids else str(request.identifier)
    foreign = f"foreign {written} {curl} && " if request.identity == OTHER else ""
    gone = f"forget {written}; " if request.method == "DELETE" else ""
    return [*prepared, f"mine {written} && {foreign}{{ {gone}step {line}; true; }} || skipped {number}"]


def _path(request: Request, ids: dict[int, str]) -> str:
    """The path and query of a request, with the id of the script's own record, between double quotes of a shell."""
    if request.identifier not in ids:
        return quoted(request.target)
    return quoted(request.target.replace(f"/{request.identifier}", f"/${ids[request.identifier or 0]}", 1))


def curl(base_url: str, request: Request) -> str:
    """The curl command of a request without files; keys come from the environment."""
    parts = ["curl", "-i"]
    if request.method != "GET" and request.form is None and request.body is None:
        parts += ["-X", request.method]
    parts += [IDENTITIES[request.identity].curl] if request.identity in IDENTITIES else []
    parts += ["-H", quote("Transfer-Encoding: chunked")] if request.shape.chunked else []
    for name, value in (request.form or {}).items():
        parts += ["--form-string", quote(f"{name}={value}")]
    if request.body is not None:
        parts += ["-H", quote(f"Content-Type: {request.body[0]}"), "--data-binary", quote(request.body[1].decode())]
    return " ".join([*filter(None, parts), quote(f"{base_url}{request.target}")])


def form(number: int, request: Request) -> tuple[list[str], list[str]]:
    if request.body is not None:
        media_type, body = request.body
    elif request.form is not None and request.shape != USUAL:
        body, media_type = encode(request.form, request.shape)
    else:
        return _fields(number, request)
    file = f'"$dir/{number}"'
    arguments = ["-H", f'"Content-Type: {quoted(media_type)}"', "--data-binary", f"@{file}"]
    return [printed(body, file)], arguments + (["-H", '"Transfer-Encoding: chunked"'] if request.shape.chunked else [])


def _fields(number: int, request: Request) -> tuple[list[str], list[str]]:
    prepared, arguments = [], list[str]()
    for name, value in (request.form or {}).items():
        if isinstance(value, str):
            arguments += ["--form-string", f'"{quoted(f"{name}={value}")}"']
        else:
            file = f'"$dir/{number}-{name}"'
            prepared.append(printed(value[1], file))
            arguments += ["-F", f'{name}=@{file}\\;filename="{quoted(value[0])}"\\;type={value[2]}']
    return prepared, arguments


def printed(content: bytes, file: str) -> str:
    """A line that writes a file, whatever is in it; the marks of the run become those of the script."""
    parts, marks = [], []
    for piece in re.split(rb"(ct\d+x?[0-9a-f]*-\d+z)", content):
        found = MARK.fullmatch(piece.decode("latin-1"))
        marks += [f'"$mark-{found[1]}"'] if found else []
        parts.append("%s" if found else "".join(ESCAPES.get(byte, f"\\{byte:03o}") for byte in piece))
    return " ".join([f"printf -- '{''.join(parts)}'", *marks, f"> {file}"])


def quoted(text: str) -> str:
    """A text between double quotes of a shell, with the script's mark for the run's; `$` stands for an id in a path."""
    escaped = re.sub(r'(["\\`]|\$(?!id_\d))', r"\\\1", text)
    escaped = MARK.sub(r"$mark-\1", escaped)
    return "$(printf '\\r')".join(escaped.split("\r"))


def _create_of(finding: Violation, every: list[Exchange]) -> list[Exchange]:
    """The create of the record that overlapping requests are about, if they are about one."""
    sought = next((each.request.identifier for each in finding.together if each.request.identifier is not None), None)
    return [each for each in every if each.request.operation == "create" and each.made_id == sought][-1:]


def at_once(finding: Violation, ids: dict[int, str], resource: Resource) -> list[str]:
    """The lines that send overlapping requests by one curl, and look at what they led to."""
    lines, parts, looks = list[str](), list[str](), list[str]()
    for number, request in enumerate((exchange.request for exchange in finding.together), 1):
        if request.method != "GET" and request.identifier is not None and request.identifier not in ids:
            return ["# These requests write to a record that this script does not create, so it sends none of them."]
        prepared, arguments = form(number, request)
        lines += prepared
        file, method = f'"$dir/at-once-{number}"', [] if arguments else ["-X", request.method]
        parts.append(" ".join([AT_ONCE, "-o", file, *method, *arguments, f'"$base{_path(request, ids)}"']))
        looks.append(f"cat {file}; echo")
        looks += [f'made="$made $(id_in {file})"'] if request.operation == "create" else []
    if not parts:
        return []
    subject = next((f'"$base{resource.record_path}${name}"' for name in ids.values()), f'"$base{resource.list_path}"')
    return [
        "# Not each try shows it: run this again if it does not.",
        *lines,
        "printf '\\n--- at one moment\\n'",
        f"curl --no-progress-meter --parallel --parallel-immediate {' --next '.join(parts)}",
        *looks,
        f'step "afterwards <-- this answer" api {subject}',
    ]
