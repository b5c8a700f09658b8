"""Serves a mock on a real socket, with Granian in this process, because the state is in memory."""

import errno
import multiprocessing
import signal
import socket
import ssl
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from importlib import import_module
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlsplit

try:
    import resource
except ImportError:  # Windows does not have it
    resource = None  # type: ignore[assignment]

from flask import Flask
from granian.constants import HTTPModes, Interfaces, RuntimeModes, SSLProtocols
from granian.http import HTTP1Settings
from granian.net import SocketHolder
from granian.server.mt import MTServer

from link_management_contract.texts import is_loopback
from mock_server.control import Control
from mock_server.control.instance import Instance
from mock_server.errors import SettingsError, extra
from mock_server.http.gateway import AsgiApplication, Gateway, WsgiSite
from mock_server.settings.settings import Settings

BACKLOG = 1024
MAX_CONNECTIONS, SPARE_FILES = 1000, 100  # further connections wait until one is closed
IDLE = HTTP1Settings(header_read_timeout=15_000, max_buffer_size=64 * 2**10)  # milliseconds, also between requests
SECONDS_TO_FINISH, SECONDS_TO_ASK = 1, 2.0


class _GranianThread(MTServer):  # type: ignore[misc]
    """Granian's worker without its process management, on a socket that is already bound.

    Granian opens sockets so that two servers can share a port, which hides that a port is in use, and starts workers as
    processes, each with its own state.
    """

    def __init__(self, listener: socket.socket, tls: tuple[Path, Path] | None) -> None:
        super().__init__(
            "mock_server",
            interface=Interfaces.ASGINL,
            runtime_mode=RuntimeModes.mt,
            http=HTTPModes.http1,
            http1_settings=IDLE,
            backpressure=_most_connections(),
            websockets=False,
            log_enabled=False,
            ssl_cert=tls[0] if tls else None,
            ssl_key=tls[1] if tls else None,
            ssl_protocol_min=SSLProtocols.tls12,
        )
        self._shd = SocketHolder(listener.detach(), False, BACKLOG)  # noqa: FBT003 - it takes no keywords

    def start(self, app: AsgiApplication) -> None:
        """Serve an ASGI application from a thread."""
        self._spawn_workers(self._spawn_asgi_worker, app)

    def stop(self) -> None:
        """Stop listening, and give requests under way a moment to finish."""
        for worker in self.wrks:
            worker.terminate()
            worker.join(SECONDS_TO_FINISH)


class MockServer:
    """A mock server on a real socket, as a context manager.

    Args:
        host: the address to listen on.
        port: the port, or 0 for one that is free.
        control_token: what clients of the control plane must show; without one, only this machine can control the mock.
        control_origins: origins whose pages may control it, such as `http://localhost:6006`.
        tls: the files of a certificate and its key, to serve HTTPS; None for HTTP.
        listener: a socket that listens already, on which other processes may serve the same mock; then host and port
            are its own.
        around: takes what is served, and returns what is served instead, such as to look at requests.
        settings: as for `Settings`.

    Attributes:
        is_controlled: whether control plane and console answer anybody.

    Raises:
        SettingsError: if a setting, a fixture or the address cannot be used.
    """

    def __init__(  # noqa: PLR0913, PLR0917 - keywords, to all who use it
        self,
        host: str = "127.0.0.1",
        port: int = 0,
        control_token: str | None = None,
        control_origins: Sequence[str] = (),
        tls: tuple[Path, Path] | None = None,
        listener: socket.socket | None = None,
        around: Callable[[WsgiSite], WsgiSite] = lambda wsgi_site: wsgi_site,
        **settings: Any,
    ) -> None:
        self.settings = Settings(**settings)
        self._control = Control(self.settings, control_token, control_origins)
        self._tls = _checked(tls) if tls else None
        has_plane = is_loopback(host) or control_token is not None
        self.is_controlled = has_plane and (self.settings.public_base_url is None or control_token is not None)
        self._address, self._listener = (host, port), listener
        self._gateway = _gateway(around(self._control if has_plane else self.running), self.running, control_token)
        self._worker: _GranianThread | None = None

    @property
    def app(self) -> Flask:
        """The application that answers; a reset replaces it."""
        return self._control.app

    @property
    def running(self) -> Instance:
        """The running mock: its journal, snapshots, forced answers and switches."""
        return self._control.running

    @property
    def api_keys(self) -> dict[str, str]:
        """The name of each account by its key."""
        keys: dict[str, str] = self.app.extensions["mock_server"].accounts.keys
        return keys

    @property
    def base_url(self) -> str:
        """The URL of the server, without a trailing slash; the port is known once it has started."""
        return f"{self.origin}{self.settings.base_path}"

    @property
    def origin(self) -> str:
        """The URL of the console, without a trailing slash."""
        return origin(*self._address, is_secure=bool(self._tls))

    def __enter__(self) -> Self:
        if self._listener:
            self._listener.settimeout(0)  # dup() passes this on to the open file, which all processes share
        listener = self._listener.dup() if self._listener else listen(*self._address)
        self._address = listener.getsockname()[:2]
        if self.settings.deployment and _is_the_same(self.settings.deployment.url, self._address):
            listener.close()
            raise SettingsError(f"{self.settings.deployment.url} is this server itself; give another URL")
        self._worker = _GranianThread(listener, self._tls)
        self._worker.start(self._gateway)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._worker:
            self._gateway.finish()
            self._worker.stop()
            self._worker = None
            self._gateway.stop()


def origin(host: str, port: int, *, is_secure: bool) -> str:
    """The URL of a server, without a trailing slash."""
    return f"{'https' if is_secure else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"


def _is_the_same(url: str, address: tuple[str, int]) -> bool:
    """Whether a URL leads to an address of this machine."""
    parts = urlsplit(url)
    return is_loopback(parts.hostname or "") and parts.port == address[1]


def _gateway(wsgi_site: WsgiSite, running: Instance, token: str | None) -> AsgiApplication:
    """The gateway of a mock, or of a server in front of a deployment."""
    deployment = running.settings.deployment
    if deployment is None:
        return Gateway(wsgi_site, waits=running.settings.store is not None)
    try:
        forwarding = import_module("mock_server.forwarding.gateway")
    except ImportError as error:
        raise SettingsError(
            f"`mock-server forward` needs aiohttp 3.14 or later; install it, or {extra('forward')}: {error}"
        ) from error
    recorders = running.journal_writer, running.fixture_recording
    gateway: AsgiApplication = forwarding.ForwardingGateway(wsgi_site, running.settings, deployment, *recorders, token)
    return gateway


def _checked(tls: tuple[Path, Path]) -> tuple[Path, Path]:
    """The same files, if they can be used."""
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(*tls)
    except (OSError, ValueError) as error:  # an SSLError is an OSError
        names = " and ".join(map(str, tls))
        raise SettingsError(f"TLS: {names} cannot be used: {error}; give a certificate and its key, in PEM") from error
    return tls


def _most_connections() -> int:
    """How many connections may be open: fewer than the files that this process may open."""
    if resource is None:
        return MAX_CONNECTIONS
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return max(1, min(MAX_CONNECTIONS, files - SPARE_FILES)) if files >= 0 else MAX_CONNECTIONS


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        SettingsError: if there cannot be one.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except (OSError, OverflowError) as error:
        listener.close()
        reason = getattr(error, "strerror", None) or error
        occupant = f", by {_who_answers(host, port)}" if getattr(error, "errno", 0) == errno.EADDRINUSE else ""
        raise SettingsError(
            f"cannot listen on {host}, port {port}: {reason}{occupant}; try another, or 0 for a free port"
        ) from error
    return listener


def _who_answers(host: str, port: int) -> str:
    """What is in the way of a mock: another one, with its console, or some other program."""
    local_host = "127.0.0.1" if host in ("0.0.0.0", "") else host  # noqa: S104 - nothing is bound to it here
    connection = HTTPConnection(local_host, port, timeout=SECONDS_TO_ASK)
    try:
        connection.request("GET", "/_mock/state")
        answer = connection.getresponse()
        is_mock = b'"defects"' in answer.read(2**20) or 'realm="mock-server"' in (
            answer.getheader("WWW-Authenticate") or ""
        )
    except (OSError, HTTPException):
        is_mock = False
    finally:
        connection.close()
    return f"a mock whose console is at {origin(local_host, port, is_secure=False)}/" if is_mock else "another program"


SECONDS_TO_STOP = 3
SECONDS_BETWEEN, MAX_SECONDS_BETWEEN = 1.0, 60.0  # from the start of a process to that of the one that replaces it
SECONDS_TO_PROVE_ITSELF = 10.0  # for which a process has to run; if one ends sooner, the next start waits twice as long


@dataclass
class _Process:
    """A further process, when it was started, and how many seconds after that another may take its place."""

    process: BaseProcess
    started: float
    delay: float


class Workers:
    """Further processes that serve a mock, as a context manager.

    Args:
        count: how many.
        listener: the socket that they share; None if there are none.
        prepare: called in each before it serves.
        server_arguments: the arguments of `MockServer`.
    """

    def __init__(
        self, count: int, listener: socket.socket | None, prepare: Callable[[], Any], server_arguments: dict[str, Any]
    ) -> None:
        self._listener = listener
        self._arguments = (listener, prepare, server_arguments)
        self._context = multiprocessing.get_context("spawn")
        self._running = [self._start(SECONDS_BETWEEN) for _ in range(count)]

    def __enter__(self) -> Self:
        """Do nothing; the processes run already."""
        return self

    def __exit__(self, *reason: object) -> None:
        """Let them finish the requests under way, and end them."""
        for worker in self._running:
            worker.process.terminate()
        for worker in self._running:
            worker.process.join(SECONDS_TO_STOP)
            worker.process.kill()
        if self._listener:
            self._listener.close()

    def replaced(self) -> list[int]:
        """Start a process for each that has ended; the ids of those.

        Processes that end as soon as they start are replaced with increasing delays, up to a minute.
        """
        ended_pids = []
        for position, worker in enumerate(self._running):
            age = time.monotonic() - worker.started
            if worker.process.is_alive():
                worker.delay = SECONDS_BETWEEN if age > SECONDS_TO_PROVE_ITSELF else worker.delay
            elif age > worker.delay:
                ended_pids.append(worker.process.pid or 0)
                self._running[position] = self._start(min(2 * worker.delay, MAX_SECONDS_BETWEEN))
        return ended_pids

    def _start(self, delay: float) -> _Process:
        process = self._context.Process(target=_work, args=self._arguments, daemon=True)
        process.start()
        return _Process(process, time.monotonic(), delay)


def _work(listener: socket.socket, prepare: Callable[[], Any], server_arguments: dict[str, Any]) -> None:
    """Serve until the process is ended, or the one that started it has gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all; the first process ends the others
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    prepare()
    parent = multiprocessing.parent_process()
    with MockServer(**server_arguments, listener=listener):
        if parent:
            parent.join()
