"""What stands in for the mock's own operations where requests are forwarded: it notes which are for the deployment."""

import re
from collections.abc import Collection, Iterable, Sequence
from urllib.parse import unquote, unquote_plus, urlsplit
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from mock_server.errors import REFUSAL, Refusal
from mock_server.http.context import context_of
from mock_server.http.messages import READS, has_body
from mock_server.settings.settings import Deployment

METHODS_NOT_FORWARDED = ("CONNECT", "TRACE")
OVERRIDE = re.compile("HTTP_(?!ACCESS_CONTROL_REQUEST_METHOD$).*(METHOD|VERB).*")
PARAMETER = re.compile(".*(method|verb).*")  # without anything but letters
PLACEHOLDER = b"to be forwarded"


class ForwardMarker:
    """Marks a request for forwarding, unless it is refused or for a path of this server's own.

    Args:
        inner: the application that answers the others.
        deployment: where requests are forwarded to.
        base_path: the prefix of all paths here.
        paths: the paths that the application answers.
    """

    def __init__(self, inner: WSGIApplication, deployment: Deployment, base_path: str, paths: Collection[str]) -> None:
        self._inner, self._deployment = inner, deployment
        self._has_prefix = bool(urlsplit(deployment.url).path)
        self._base_path, self._own_paths = base_path, frozenset(paths)

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request, or send a placeholder for the deployment's answer."""
        path = environ.get("RAW_PATH") or environ["PATH_INFO"]
        is_outside = not path.startswith(f"{self._base_path}/")
        if REFUSAL not in environ and not is_outside and (refusal := self._refusal(environ)):
            environ[REFUSAL] = refusal
        if REFUSAL in environ or is_outside or path in self._own_paths:
            return self._inner(environ, start_response)
        context_of(environ).forwarded = True
        start_response("200 OK", [])
        return [PLACEHOLDER]

    def _refusal(self, environ: WSGIEnvironment) -> Refusal | None:
        method = environ["REQUEST_METHOD"]
        if method.upper() in METHODS_NOT_FORWARDED or method != method.upper():
            return Refusal("405", f"{method} is not forwarded; send another method, in capitals.", mistake=False)
        if method == "OPTIONS" and {"HTTP_ORIGIN", "HTTP_ACCESS_CONTROL_REQUEST_METHOD"} <= environ.keys():
            title = f"Pages of {environ['HTTP_ORIGIN']} may not call this server; --cors-origin lets them."
            return Refusal("403", title, mistake=False)
        path = (environ.get("RAW_PATH") or environ["PATH_INFO"]).removeprefix(self._base_path)
        if self._has_prefix and _leaves(path):
            return Refusal("400", "This path leads out of the deployment's base URL; send one that stays within it.")
        if self._deployment.read_only and (method not in READS or _is_overridden(environ)):
            title = "This server forwards reads alone: it was started with --read-only."
            return Refusal("405", title, mistake=False)
        return None


def _is_overridden(environ: WSGIEnvironment) -> bool:
    """Whether a deployment might take a read for a write: it has a body, or says that it is something else."""
    names = (unquote_plus(parameter.partition("=")[0]) for parameter in re.split("[&;]", environ["QUERY_STRING"]))
    asks = any(PARAMETER.fullmatch(re.sub("[^a-z]", "", name.casefold())) for name in names)
    return has_body(environ) or asks or any(map(OVERRIDE.fullmatch, environ))


def _leaves(path: str) -> bool:
    """Whether a path has more `..` than segments before them, whether or not escaped and other slashes divide it."""
    return any(map(_leads_up, (path.split("/"), re.split(r"[/\\]", unquote(path)))))


def _leads_up(segments: Sequence[str]) -> bool:
    depth = 0
    for segment in segments:
        name = unquote(segment).partition(";")[0]
        depth += -1 if name == ".." else name not in ("", ".")
        if depth < 0:
            return True
    return False
