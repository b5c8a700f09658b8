"""The command `mock-server`: its subcommands, what it asks for as settings, and how it serves."""

import logging
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import urlsplit

import click
from click.core import ParameterSource

from link_management_contract.texts import discard, printable, shown_url
from mock_server import output
from mock_server.control.instance import Instance
from mock_server.errors import Refusal, SettingsError, extra
from mock_server.options import (
    ACCESS,
    BEHAVIOUR,
    DATA,
    ENVIRONMENT,
    FILE,
    MAX_PORT,
    OPTIONS,
    OUTPUT,
    PROXY,
    SHARED,
    Option,
    ServerOptions,
    TryOptions,
    without_slash,
)
from mock_server.output import BatchHandler, Clocked
from mock_server.server import MockServer, Workers, listen, origin
from mock_server.settings.choices import system_clock
from mock_server.settings.documents import write_document
from mock_server.settings.settings import FORWARDS, Deployment, read_profile
from mock_server.store.fixtures import SHIPPED

FORWARD_DATA_FLAGS = ("--journal", "--condition")  # that go with a deployment, too
ADDRESS_FLAGS = ("--host", "--port", "--base-path", "--public-base-url")
REMARKS_FOUND, UNWRITTEN, USAGE_ERROR, BROKEN_TRY, USAGE_ERROR_OF_TRY = 1, 1, 2, 3, 4
OWN_ERROR = "the trial itself broke, and says nothing of your client; please report the lines above"
HANGUP = (signal.SIGHUP,) if sys.platform != "win32" else ()  # the terminal was closed
FIRST = 1  # the process of a container that signals end only if it handles them
SECONDS_TO_NOTICE = 0.1  # until a signal is noticed
StartingState = tuple[str, tuple[int, int] | None]  # what the accounts held, as a fixture, and the state of its file
DESCRIPTION = "A stateful mock of the link-management service API. Without a command, it serves."


class _Command(click.Command):
    """A command whose help shows options under headings."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            if isinstance(parameter, click.Option) and (record := parameter.get_help_record(ctx)):
                groups.setdefault(getattr(parameter, "group", "other options"), []).append(record)
        for title, records in groups.items():
            with formatter.section(title[0].upper() + title[1:]):
                formatter.write_dl(records)
        if isinstance(self, click.Group):
            self.format_commands(ctx, formatter)


class _Group(_Command, click.Group):
    """The command that serves, and has others."""


def _visible_options(*flags: str, groups: Sequence[str] = ()) -> list[click.Parameter]:
    """Options by flag or heading, none of which is hidden."""
    options = [copy(option) for option in OPTIONS if option.flag in flags or option.group in groups]
    for option in options:
        option.hidden = False
    return list(options)


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise click.BadParameter(f'invalid variable "{text}": expected NAME=TEXT, such as BASE_URL={{url}}')
    return name, value


TRIAL_SERVER_FLAGS = (
    "--fixture",
    "--records",
    "--api-key",
    "--open",
    "--profile",
    "--extend",
    "--base-path",
    "--cors",
)
TRIAL_OPTIONS = [
    click.Option(
        ["--vary"],
        default="open,trouble",
        show_default=True,
        metavar="open,trouble,defects",
        help="what is different about the servers",
    ),
    click.Option(
        ["--only"], multiple=True, metavar="NAME", help="vary this point, trouble or defect alone; may be repeated"
    ),
    click.Option(["--jobs"], type=click.IntRange(1), default=1, show_default=True, metavar="N", help="runs at a time"),
    click.Option(
        ["--runs"], type=click.IntRange(1), default=1000, show_default=True, metavar="N", help="stop after N runs"
    ),
    click.Option(
        ["--minutes"],
        type=click.FloatRange(0, min_open=True),
        metavar="N",
        help="stop in time for this; one other value of each point comes first, then trouble that may show harm",
    ),
    click.Option(
        ["--client-junit"],
        type=FILE,
        metavar="FILE",
        help="the JUnit file that your tests write, to name those that fail [default: what they print]",
    ),
    click.Option(
        ["--limit"],
        type=click.IntRange(1),
        default=1800,
        show_default=True,
        metavar="SECONDS",
        help="end the first run after so long; later ones end after five times what it took, and a minute",
    ),
    click.Option(
        ["--env"],
        multiple=True,
        type=_variable,
        metavar="NAME={url}",
        help="tell the command where the server is, beside $MOCK_URL; {key} is an API key; may be repeated",
    ),
    click.Option(
        ["--port"],
        type=click.IntRange(0, MAX_PORT),
        metavar="N",
        help="port of each mock [default: a free one; with --manual, 8000]",
    ),
    click.Option(["--manual"], is_flag=True, help="serve one choice after another, and ask whether your client passed"),
    click.Option(["--report-dir"], type=FILE, metavar="DIR", help="write results.json, junit.xml and summary.md"),
    click.Option(
        ["--baseline"],
        type=FILE,
        metavar="RESULTS",
        help="fail only if the client relies on more than in these results",
    ),
]
COMMANDS: dict[str, tuple[str, list[click.Parameter]]] = {
    "forward": (
        "Proxy the deployment at URL; no records are kept.",
        [
            click.Argument(["forward_to"], type=without_slash, metavar="URL"),
            *_visible_options(*FORWARD_DATA_FLAGS, groups=(PROXY, ACCESS, OUTPUT)),
        ],
    ),
    "list": (
        "List the defects, the open points or the conditions.",
        [
            click.Argument(["what"], type=click.Choice(("defects", "open", "conditions"))),
            *_visible_options("--open", "--profile", "--grease"),
        ],
    ),
    "contract": (
        "Print openapi.yaml, or its rendering for generators of clients.",
        [
            click.Argument(["print_contract"], type=click.Choice(("whole", "client")), default="whole"),
            *_visible_options(*ADDRESS_FLAGS),
        ],
    ),
    "try": (
        "Try a client, which COMMAND starts, against every server that the specification allows.",
        [
            click.Argument(["client"], nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND..."),
            *TRIAL_OPTIONS,
            *_visible_options(*TRIAL_SERVER_FLAGS),
        ],
    ),
    "mcp": (
        "Serve tools to a coding agent, over stdin and stdout: it starts a mock, switches it and looks into it.",
        [
            *_visible_options(*TRIAL_SERVER_FLAGS),
            click.Option(
                ["--port"], type=click.IntRange(0, MAX_PORT), metavar="N", help="port of the mock [default: a free one]"
            ),
        ],
    ),
    "fixture": (
        "Write a fixture to begin with, and its schema for editors.",
        [click.Argument(["write_fixture"], type=FILE, metavar="FILE")],
    ),
}


def parse(arguments: Sequence[str] | None = None) -> ServerOptions:
    """What a command line says.

    Args:
        arguments: the command line; that of the process, if None.

    Raises:
        click.ClickException: if it cannot be read.
        click.exceptions.Exit: if help or the version was printed.
    """
    group = _Group("mock-server", params=list(OPTIONS), invoke_without_command=True, callback=_note, help=DESCRIPTION)
    click.version_option(_version(), prog_name="mock-server", message="%(prog)s %(version)s")(group)
    for name, (text, parameters) in COMMANDS.items():
        group.add_command(_Command(name, params=parameters, callback=_note, help=text, short_help=text))
    line = sys.argv[1:] if arguments is None else list(arguments)
    parsed = _ParsedValues({}, set())
    with group.make_context("mock-server", line, obj=parsed) as context:
        group.invoke(context)
    values = parsed.values
    if list_name := values.pop("what", None):
        values[f"list_{list_name}"] = True
    options_class = TryOptions if "client" in values else ServerOptions
    return options_class(words=tuple(line), names_used=frozenset(parsed.names_used), **values)


@dataclass(frozen=True)
class _ParsedValues:
    """The values of a command line, and the names of those that stand on it."""

    values: dict[str, Any]
    names_used: set[str]


@click.pass_context
def _note(context: click.Context, /, **values: Any) -> None:
    """Note the values of a command's parameters, over those of the command that it belongs to."""
    parsed: _ParsedValues = context.obj
    parsed.values["command"] = context.info_name
    for name, value in values.items():
        is_used = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        is_default = name not in parsed.names_used and value is not None
        if is_used or is_default or name not in parsed.values:
            parsed.values[name] = value
        if is_used:
            parsed.names_used.add(name)


def _version() -> str:
    try:
        return version("link-management-contract")
    except PackageNotFoundError:
        return "that is not installed"


def settings_of(args: ServerOptions) -> dict[str, Any]:
    """The settings that a command line asks for.

    Raises:
        SettingsError: if options contradict one another, or a profile cannot be read.
    """
    if args.rate_limit and "rate-limit" in dict(args.condition):
        raise SettingsError("--rate-limit and --condition rate-limit are the same; give one of them")
    if not args.store and (used_options := [option.flag for option in _used_options(args) if option.group == SHARED]):
        raise SettingsError(f"{used_options[0]} goes with --store URL; give both")
    if args.cors == "off" and args.cors_origin:
        raise SettingsError("--cors off and --cors-origin contradict each other; give one of them")
    return {
        **{option.setting: getattr(args, str(option.name)) for option in OPTIONS if option.setting},
        "choices": (read_profile(args.profile) if args.profile else {}) | dict(args.open),
        "conditions": dict(args.condition) | ({"rate-limit": args.rate_limit} if args.rate_limit else {}),
        "cors_origins": args.cors_origin or ("*",) if args.cors == "on" else (),
        "clock": system_clock if args.clock == "system" else None,
        "deployment": _deployment(args),
    }


def _deployment(args: ServerOptions) -> Deployment | None:
    """The deployment that requests are forwarded to, if any."""
    used_options = _used_options(args)
    if args.forward_to is None:
        for option in used_options:
            if option.group == PROXY:
                raise SettingsError(f"{option.flag} goes with `mock-server forward URL`; give both")
        return None
    for option in used_options:
        if option.group in (DATA, BEHAVIOUR, SHARED) and option.flag not in FORWARD_DATA_FLAGS:
            raise SettingsError(f"{option.flag} does not apply: {FORWARDS.format(shown_url(args.forward_to))}")
    if args.verbatim and not args.record:
        raise SettingsError("--verbatim goes with --record FILE; give both")
    if args.client_key and not args.client_cert:
        raise SettingsError("--client-key goes with --client-cert FILE; give both")
    return Deployment(
        url=args.forward_to,
        read_only=args.read_only,
        rewrite_links=args.rewrite_links,
        is_recorded=args.record is not None,
        timeout=args.timeout,
        ca_bundle=args.ca_bundle,
        insecure=args.insecure,
        client_certificate=args.client_cert,
        client_key=args.client_key,
    )


def _used_options(args: ServerOptions) -> list[Option]:
    return [option for option in OPTIONS if option.name in args.names_used]


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve the mock until Ctrl-C or SIGTERM.

    Args:
        arguments: the command line; that of the process, if None.

    Raises:
        SystemExit: with status 0 when the mock is stopped; 1 if there were remarks and `--fail-on-remarks` is given, or
            a file could not be written; 2 if it cannot start.
    """
    with suppress(AttributeError):  # a stream that replaces stdout may have no encoding
        sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    options, text = _read_command_line(arguments)
    if options is None:
        return None
    if text is not None:
        return None if output.say(text) else _end(SettingsError("the output cannot be written"), UNWRITTEN)
    if isinstance(options, TryOptions):
        raise SystemExit(_try_client(options))
    if options.command == "mcp":
        return _serve_tools(options)
    for number in (signal.SIGINT, signal.SIGTERM):  # until it listens, there is nothing to tidy up
        signal.signal(number, signal.SIG_DFL if os.getpid() != FIRST else lambda code, _: os._exit(128 + code))
    handler = _log(options.log_level)
    try:
        server_arguments, files = _server_arguments(options), _watched_files(options)
        listener = listen(options.host, options.port) if options.workers > 1 else None
        server = MockServer(**server_arguments, listener=listener)
        with server:
            signals: list[int] = []  # an event's lock may be held by the first signal when a second arrives
            for number in (signal.SIGINT, signal.SIGTERM, *HANGUP):
                if signal.getsignal(number) is not signal.SIG_IGN:  # as nohup has it
                    signal.signal(number, lambda *_: signals.append(1))
            starting_state = _starting_state(server, options) if options.save else None
            output.say(output.ready(server) if options.ready_json else output.banner(server))
            with Workers(options.workers - 1, listener, partial(_log, options.log_level), server_arguments) as workers:
                _serve(server.running, options, files, signals, workers)
    except (SettingsError, Refusal) as error:  # a refusal by the store
        _end(error)
    handler.finish()
    os._exit(_finish(server, options, starting_state))  # even if threads hang


def _read_command_line(arguments: Sequence[str] | None) -> tuple[ServerOptions | None, str | None]:
    """What a command line says, and what to print instead of serving; no options if it was for help or the version."""
    try:
        options = parse(arguments)
        return options, _text_to_print(options)
    except click.exceptions.Exit:  # it was printed
        return None, None
    except (click.ClickException, SettingsError) as error:
        _end(error)
    except OSError as error:
        discard(sys.stdout)
        if isinstance(error, BrokenPipeError):  # it was read as far as somebody wanted
            return None, None
        _end(SettingsError("the output cannot be written"), UNWRITTEN)


def _try_client(options: TryOptions) -> int:
    from mock_server.trial.command import try_client  # noqa: PLC0415 - a mock that serves need not wait for it

    try:
        return try_client(options, settings_of(options))
    except SettingsError as error:
        _end(error, USAGE_ERROR_OF_TRY)
    except Exception:  # noqa: BLE001 - no error here may be mistaken for one of the client
        traceback.print_exc()
        _end(SettingsError(OWN_ERROR), BROKEN_TRY)


def _serve_tools(options: ServerOptions) -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until it listens, there is nothing to tidy up
    try:
        from mock_server.agents import serve  # noqa: PLC0415 - as above

        serve(options, settings_of(options))
    except ImportError as error:
        _end(SettingsError(f"`mock-server mcp` needs {error.name}; install it, or {extra('mcp')}"))
    except SettingsError as error:
        _end(error)


def _end(error: Exception, status: int = USAGE_ERROR) -> NoReturn:
    """End with a mistake of the user's, or with several, each told in a line."""
    context = error.ctx if isinstance(error, click.UsageError) else None
    message = error.format_message() if isinstance(error, click.ClickException) else str(error)
    lines = [" ".join(line.split()) for line in message.splitlines()]
    print("mock-server:", "\n".join(filter(None, lines)), file=sys.stderr)
    raise SystemExit(USAGE_ERROR_OF_TRY if context and context.info_name == "try" else status)


def _finish(server: MockServer, options: ServerOptions, starting_state: StartingState | None) -> int:
    """Write and say what is asked for at the end, and return the exit status."""
    try:
        write_results = list(_write_files(server, options, starting_state))
        for line, _ in write_results:
            output.say(line)
        output.say(output.remarks(server) or "Stopped.")
        is_remarked = options.fail_on_remarks and server.running.journal.remark_counts
    except Refusal:
        output.say("Stopped. The store does not answer, so nothing can be said of the requests.")
        return REMARKS_FOUND
    return REMARKS_FOUND if is_remarked or not all(is_written for _, is_written in write_results) else 0


def _write_files(
    server: MockServer, options: ServerOptions, starting_state: StartingState | None
) -> Iterator[tuple[str, bool]]:
    """Write the files that are asked for at the end; what is said of each, and whether it could be written."""
    if options.har:
        archive = server.running.archive(urlsplit(server.base_url).scheme)
        yield output.wrote(options.har, archive, f"Judge it: contract-tests judge {options.har}")
    if starting_state:
        file, (text, state) = Path(options.fixture), starting_state
        yield output.saved(file, text, server.running.fixtures.current(), is_changed=_state(file) != state)
    if options.record and server.running.fixture_recording:
        yield output.recorded(options.record, server.running.fixture_recording, verbatim=options.verbatim)


def _log(level: str) -> BatchHandler:
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False  # nobody is shown them
    logging.raiseExceptions = False  # a log that cannot be written is no reason to stop
    handler = BatchHandler()
    handler.setFormatter(Clocked("%(asctime)s %(message)s"))
    logging.basicConfig(level=level.upper(), handlers=[handler])
    return handler


def _server_arguments(options: ServerOptions) -> dict[str, Any]:
    """The arguments of the server that a command line asks for."""
    if options.watch and options.fixture in SHIPPED:
        raise SettingsError("--watch watches a file; name it with --fixture FILE")
    if options.save:
        _check_saving(options)
    if bool(options.tls_cert) != bool(options.tls_key):
        raise SettingsError("--tls-cert and --tls-key go together; give both")
    if options.fail_on_remarks and not options.journal:
        raise SettingsError("--fail-on-remarks needs a journal; leave --journal 0 out")
    for path in filter(None, (options.har, options.record)):
        output.check_writable(path)
    if options.extend and options.workers > 1:
        raise SettingsError("--extend goes with one process, which notices when the file is saved; leave --workers out")
    if options.har and options.har == options.record:
        raise SettingsError("--har and --record name the same file; give two")
    if options.har and not options.journal:
        raise SettingsError("--har needs a journal; leave --journal 0 out")
    return {
        "host": options.host,
        "port": options.port,
        "control_token": _token(options),
        "control_origins": options.control_origin,
        "tls": (options.tls_cert, options.tls_key) if options.tls_cert else None,
        **settings_of(options),
    }


def _check_saving(options: ServerOptions) -> None:
    """Refuse what does not go with saving."""
    if options.fixture in SHIPPED:
        raise SettingsError("--save writes to a file; name it with --fixture FILE")
    for name, reason in (
        ("watch", "which reads the file that --save writes"),
        ("store", "which keeps everything already"),
        ("records", "whose records would be in the file, and be added once more"),
        ("api_key", "whose account would be in the file, and be added once more"),
    ):
        if getattr(options, name):
            raise SettingsError(f"--save does not go with --{name.replace('_', '-')}, {reason}; leave one of them out")
    output.check_writable(Path(options.fixture))


def _starting_state(server: MockServer, options: ServerOptions) -> StartingState:
    """What the accounts hold at the start, as a fixture, and the state of its file."""
    return write_document(server.running.fixtures.current()), _state(Path(options.fixture))


def _watched_files(options: ServerOptions) -> dict[Path, object]:
    """The files that are watched, and their states."""
    files = [Path(options.fixture)] if options.watch else []
    return {file: _state(file) for file in [*files, *([options.extend] if options.extend else [])]}


def _serve(
    running: Instance, options: ServerOptions, files: dict[Path, object], signals: list[int], workers: Workers
) -> None:
    """Serve until a signal comes; read the files again that are watched, once they are not as they were at first."""
    while not signals:
        time.sleep(SECONDS_TO_NOTICE)
        for ended_process in workers.replaced():
            output.say(f"Process {ended_process} has ended; another takes its place.")
        for file, before in files.items():
            now = _state(file)
            if now and now != before:
                files[file] = now
                output.say(_reloaded(file, running.change_switches if file == options.extend else running.reload))


def _state(file: Path) -> tuple[int, int] | None:
    """What changes with a file; None while it is not there, as when an editor replaces it."""
    try:
        file_stat = file.stat()
    except OSError:
        return None
    return file_stat.st_mtime_ns, file_stat.st_size


def _reloaded(file: Path, read_again: Callable[[], None]) -> str:
    try:
        read_again()
    except (SettingsError, Refusal) as error:
        return printable(f"{error}\nKeeping the previous version; correct the file and save it again.")
    return printable(f"Reloaded {file}.")


def _text_to_print(options: ServerOptions) -> str | None:
    """What to print instead of serving, if that is asked for."""
    if options.print_contract:
        return output.contract(options.print_contract, _base_url(options))
    if options.write_fixture:
        return output.wrote_fixture(options.write_fixture)
    if options.list_open:
        return output.open_points(settings_of(options)["choices"], options.grease)
    if options.list_defects:
        return output.defects()
    return output.conditions() if options.list_conditions else None


def _base_url(options: ServerOptions) -> str:
    mock_origin = origin(options.host, options.port, is_secure=bool(options.tls_cert))
    return options.public_base_url or f"{mock_origin}{options.base_path}"


def _token(options: ServerOptions) -> str | None:
    """The control token, best given where neither other users nor logs see it."""
    tokens = [token for token in (options.control_token, os.environ.get(ENVIRONMENT)) if token is not None]
    if options.control_token_file:
        try:
            tokens.append(options.control_token_file.read_text("utf-8").strip())
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"the file of the control token cannot be read: {error}") from error
    if len(tokens) > 1:
        raise SettingsError(f"the control token is given twice; give one of --control-token, its file, ${ENVIRONMENT}")
    return tokens[0] if tokens else None
