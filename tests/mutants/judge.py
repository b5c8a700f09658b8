"""Judges three servers of other people's habits: as they are, with one slip, and with one mutation of their source.

`python tests/mutants/judge.py slips django` plants each slip of `django/slips.toml`; `mutants php --count 200` changes
one place in the source at a time. Each server so changed is started, judged as `contract-tests run --overlap 2` does,
and stopped. What is found where the original conforms is caught; the rest survives, unless no client can see it. That
is marked: for a slip by `visible = false`, for a mutation by a line of `equivalent.toml`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from contract_tests.errors import UnusableTargetError
from contract_tests.proof import EXPLORE, KEY, SECOND_KEY
from contract_tests.reports.causes import groups
from contract_tests.reports.results import as_dict
from contract_tests.run import Options, run
from contract_tests.target.budget import Limits
from contract_tests.target.target import JOBS
from contract_tests.verdicts.verdicts import Outcome, Verdict
from link_management_contract import shipped_contract

HERE = Path(__file__).parent
SECONDS_TO_START, SECONDS_OF_A_RUN = 20, 90
SEED = 36  # which mutations are drawn
ROUNDS = 2  # of requests that overlap
CHANGES: Sequence[tuple[str, str]] = (  # a pattern, and what stands there instead
    (r" === ", " !== "),
    (r" !== ", " === "),
    (r" == ", " != "),
    (r" != ", " == "),
    (r" <= ", " < "),
    (r" >= ", " > "),
    (r" < ", " <= "),
    (r" > ", " >= "),
    (r" \+ ", " - "),
    (r" - ", " + "),
    (r" \* ", " + "),
    (r" && ", " || "),
    (r" \|\| ", " && "),
    (r" \?\? ", " && "),
    (r" and ", " or "),
    (r" or ", " and "),
    (r"\bnot (?!in\b)", ""),
    (r" not in ", " in "),
    (r"(?<=[(\s])!(?=[\w$(])", ""),
    (r"\btrue\b", "false"),
    (r"\bfalse\b", "true"),
    (r"\bTrue\b", "False"),
    (r"\bFalse\b", "True"),
    (r"\b(?<![\w.])(\d+)\b(?!['\"\w])", r"(\1 + 1)"),
    (r"\bAND\b", "OR"),
    (r"\bDESC\b", "ASC"),
    (r"\bif \((.+)\) \{$", r"if (!(\1)) {"),
    (r"\bif (.+):$", r"if not (\1):"),
    (r"\bif (\S.*) else ", r"if not (\1) else "),
    (r"'([a-z_-]+)'", r"'\1x'"),
    (r'"([a-z_-]+)"', r'"\1x"'),
    (
        r"^(\s+)(?!return\b|throw\b|raise\b|break\b|continue\b)(\S.*;|[\w.]+\(.*\)|[\w.\[\]\"']+ [|+-]?= [^({\[]*)$",
        r"\1pass;",
    ),
    (r"^(\s+)(return|raise|throw)\b.*[^{(\[,]$", r"\1pass;"),
)


@dataclass(frozen=True)
class Server:
    """A server to be judged.

    Attributes:
        file: its source, in a folder of its name.
        command: what starts it, without the port.
        check: what refuses a source that is none of the language.
        nothing: a statement that does nothing.
        comment: how a line of comment begins.
    """

    name: str
    file: str
    command: tuple[str, ...]
    check: tuple[str, ...]
    nothing: str
    comment: str

    @property
    def source(self) -> str:
        return (HERE / self.name / self.file).read_text("utf-8")

    @property
    def is_here(self) -> bool:
        """Whether what it runs on is installed."""
        return (
            shutil.which(self.command[0]) is not None
            and subprocess.run(
                [*self.check, HERE / self.name / self.file], capture_output=True, check=False, cwd=HERE / self.name
            ).returncode
            == 0
        )


SERVERS = {
    each.name: each
    for each in (
        Server("django", "server.py", (sys.executable,), (sys.executable, "-m", "py_compile"), "pass", "#"),
        Server("express", "server.mjs", ("node",), ("node", "--check"), ";", "//"),
        Server("php", "server.php", ("php",), ("php", "-l"), ";", "//"),
    )
}


@dataclass(frozen=True)
class Changed:
    """A server with another source.

    Attributes:
        name: of the slip or the mutation; a mutation's is its line and what became of it.
        visible: whether a client can see the difference.
        why: why not, or what a client sees.
    """

    server: str
    name: str
    source: str
    visible: bool = True
    why: str = ""


@dataclass(frozen=True)
class Judged:
    """What came of it: the rules found violated, the first finding, and the word; *no server* if it did not start."""

    changed: Changed
    word: str
    rules: tuple[str, ...] = ()
    first: str = ""
    server_errors: int = 0
    left: int = 0


@contextmanager
def serving(server: Server, source: str) -> Iterator[str | None]:
    """Start a server and stop it in the end; its base URL, or None if it does not start."""
    file = HERE / server.name / f".{os.getpid()}-{server.file}"  # beside the packages that it needs
    file.write_text(source, "utf-8")
    with tempfile.TemporaryDirectory() as temporary:
        process = subprocess.Popen(
            [*server.command, file.name, str(_free_port())],
            cwd=HERE / server.name,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=os.environ | {"TMPDIR": temporary, "PYTHONDONTWRITEBYTECODE": "1"},
            start_new_session=True,
        )
        signal.signal(signal.SIGALRM, _too_late)
        try:
            signal.alarm(SECONDS_TO_START)
            line = process.stdout.readline() if process.stdout else ""
            signal.alarm(0)
            yield line.split()[-1] if "listening on http" in line else None
        except TimeoutError:
            yield None
        finally:
            file.unlink()
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(5)
            _end(temporary)
            process.wait()
            if process.stdout:
                process.stdout.close()


def _too_late(*_: object) -> None:
    raise TimeoutError


def _end(temporary: str) -> None:
    """End what a server may have left running: all processes that were given its temporary folder."""
    for environment in Path("/proc").glob("[0-9]*/environ"):
        with contextlib.suppress(OSError):
            if f"TMPDIR={temporary}\0".encode() in environment.read_bytes():
                os.kill(int(environment.parent.name), signal.SIGKILL)


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    return port


def judged(changed: Changed, explore: int = EXPLORE, overlap: int = ROUNDS) -> Judged:
    """Start a changed server and judge it."""
    with serving(SERVERS[changed.server], changed.source) as base_url:
        if base_url is None:
            return Judged(changed, "no server")
        limits = Limits(requests=6000, seconds=SECONDS_OF_A_RUN, timeout=5.0, jobs=JOBS)
        options = Options(base_url, KEY, SECOND_KEY, limits=limits, explore=explore, overlap=overlap)
        try:
            outcome = run(shipped_contract(), options)
        except UnusableTargetError as error:
            return Judged(changed, f"unusable: {error}", ("unusable",))
    return _judged(changed, outcome)


def _judged(changed: Changed, outcome: Outcome) -> Judged:
    wrong = [result for group in groups(as_dict(outcome)["results"]) for result in (*group.results, *group.follows)]
    undecided = [f"({each.id})" for each in outcome.results if each.verdict is Verdict.INCONCLUSIVE]
    finding = wrong[0]["findings"][0] if wrong else {}
    first = f"expected {finding['expected']}, received {finding['received']}" if finding else ""
    rules = (*(f"{each['rule']}[{each['kind']}]" for each in wrong), *undecided)
    return Judged(changed, outcome.headline, rules, first, len(outcome.server_errors), len(outcome.left))


def slips(server: Server) -> list[Changed]:
    planted = []
    for slip in tomllib.loads((HERE / server.name / "slips.toml").read_text("utf-8"))["slip"]:
        source = server.source
        for edit in slip["edit"]:
            assert source.count(edit["find"]) == 1, f"{slip['name']}: this does not stand there once: {edit['find']}"
            source = source.replace(edit["find"], edit["replace"])
        planted.append(Changed(server.name, slip["name"], source, slip["visible"], slip["seen"]))
    return planted


def mutants(server: Server, count: int) -> list[Changed]:
    """Draw mutations of the source that are still sources of the language."""
    lines, every = server.source.split("\n"), list[Changed]()
    for number, line in enumerate(lines):
        if line.lstrip().startswith((server.comment, '"""', "*", "/*", "import ", "from ", "use ")):
            continue
        for pattern, instead in CHANGES:
            for found in re.finditer(pattern, line):
                other = (
                    line[: found.start()] + found.expand(instead).replace("pass;", server.nothing) + line[found.end() :]
                )
                source = "\n".join([*lines[:number], other, *lines[number + 1 :]])
                every.append(Changed(server.name, f"{line.strip()} -> {other.strip()} ({found.start()})", source))
    random.Random(SEED).shuffle(every)
    unseen = tomllib.loads((HERE / server.name / "equivalent.toml").read_text("utf-8"))
    drawn: list[Changed] = []
    for each in every:
        if len(drawn) < count and _is_source(server, each.source):
            why = unseen.get(each.name, "")
            drawn.append(Changed(each.server, each.name, each.source, not why, why))
    return drawn


def _is_source(server: Server, source: str) -> bool:
    with tempfile.NamedTemporaryFile("w", suffix=Path(server.file).suffix, encoding="utf-8") as file:
        file.write(source)
        file.flush()
        return subprocess.run([*server.check, file.name], capture_output=True, check=False).returncode == 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["originals", "slips", "mutants"])
    parser.add_argument("servers", nargs="*", default=list(SERVERS), metavar="SERVER", help=", ".join(SERVERS))
    parser.add_argument("--count", type=int, default=40, help="how many mutations of each server")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default=".", metavar="PATTERN", help="only the slips or mutations whose names match")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all results there")
    given = parser.parse_args()
    make: dict[str, Callable[[Server], list[Changed]]] = {
        "originals": lambda _: [],
        "slips": slips,
        "mutants": partial(mutants, count=given.count),
    }
    written = []
    for server in (SERVERS[name] for name in given.servers):
        original = Changed(server.name, "as it is", server.source)
        changed = [each for each in make[given.what](server) if re.search(given.only, each.name)]
        with get_context("spawn").Pool(given.jobs, maxtasksperchild=20) as pool:
            every = pool.imap(judged, [original, *changed])
            usual = next(every)
            print(
                f"{server.name} as it is: {usual.word}; {', '.join(usual.rules)}; 5xx: {usual.server_errors}",
                flush=True,
            )
            others = [_printed(each, usual) for each in every]
        _count(server, others, usual)
        written += [
            {"server": server.name, "name": each.changed.name, "visible": each.changed.visible, "why": each.changed.why}
            | {"word": each.word, "rules": each.rules, "first": each.first, "caught": _is_caught(each, usual)}
            | {"server_errors": each.server_errors, "left": each.left}
            for each in (usual, *others)
        ]
    if given.json:
        given.json.write_text(json.dumps(written, indent=1), "utf-8")


def _is_caught(each: Judged, usual: Judged) -> bool:
    return any(rule not in usual.rules and not rule.startswith("(") for rule in each.rules)


def _how(each: Judged, usual: Judged) -> str:
    """What became of a changed server; one that is left undecided does not pass either."""
    if each.word == "no server":
        return each.word
    if _is_caught(each, usual):
        return "caught"
    if not each.changed.visible:
        return "unseen"
    return "undecided" if each.word.startswith(("undecided", "the server is gone")) else "survives"


def _printed(each: Judged, usual: Judged) -> Judged:
    rules = ", ".join(each.rules[:3])
    print(f"{_how(each, usual):9} {each.changed.name}: {each.word}: {rules}; {each.first[:150]}", flush=True)
    return each


def _count(server: Server, others: Sequence[Judged], usual: Judged) -> None:
    counts = Counter(_how(each, usual) for each in others)
    print(f"{server.name}: {', '.join(f'{count} {how}' for how, count in counts.most_common())}", flush=True)


if __name__ == "__main__":
    main()
