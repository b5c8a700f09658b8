"""The journal in formats of others: an HTTP archive, and a request as a curl command."""

import re
import shlex
from base64 import b64encode
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from http import HTTPStatus
from io import StringIO
from urllib.parse import parse_qsl, quote

import harfile

from mock_server.http.masking import masked_whole
from mock_server.journal.journal import Entry
from mock_server.settings.settings import is_sandbox

HTTP = "HTTP/1.1"
COMMENT = "Keys are hidden. Answers that a test asked for, and those of a proxy itself, are left out."
SAFE = "/:@!$&'()*+,;=~-._"


def archive(exchanges: Iterable[tuple[Entry, bytes | None]], base_url: Callable[[Entry], str], base_path: str) -> str:
    """An HTTP archive of what a service answered.

    Args:
        exchanges: requests, each with the whole body of its answer, or None if that was not kept.
        base_url: where the service answers, for each request.
        base_path: the prefix of the requests' paths, which the base URL stands for.
    """
    file = StringIO()
    with harfile.HarFile(file, comment=COMMENT) as har:
        for entry, body in exchanges:
            if entry.status is None or entry.own or entry.forced or entry.broken:
                continue
            if entry.is_preferred:
                continue
            har.add_entry(
                startedDateTime=datetime.fromisoformat(entry.time).replace(tzinfo=UTC),
                time=entry.milliseconds,
                request=_request(entry, base_url(entry) + quote(entry.path.removeprefix(base_path), safe=SAFE)),
                response=_response(entry, body),
                timings=harfile.Timings(send=0, wait=entry.milliseconds, receive=0),
            )
    return file.getvalue()


def _request(entry: Entry, url: str) -> harfile.Request:
    return harfile.Request(
        method=entry.method,
        url=f"{url}?{entry.query}" if entry.query else url,
        httpVersion=HTTP,
        headers=_records(entry.headers),
        queryString=[harfile.Record(name, text) for name, text in parse_qsl(entry.query, keep_blank_values=True)],
        postData=_post_data(entry),
    )


def _post_data(entry: Entry) -> harfile.PostData | None:
    if not (entry.fields or entry.files or entry.body):
        return None
    if entry.body:
        return harfile.PostData(mimeType=entry.media_type, text=entry.body)
    texts = [harfile.PostParameter(name, value=text) for name, text in entry.fields.items()]
    files = [
        harfile.PostParameter(name, fileName=file.name, contentType=file.media_type)
        for name, file in entry.files.items()
    ]
    return harfile.PostData(mimeType=entry.media_type, params=[*texts, *files])


def _response(entry: Entry, body: bytes | None) -> harfile.Response:
    status = entry.status or 0
    is_registered = status in HTTPStatus._value2member_map_
    # What is kept is no longer compressed.
    headers = {name: text for name, text in entry.answer_headers.items() if name.lower() != "content-encoding"}
    return harfile.Response(
        status=status,
        statusText=HTTPStatus(status).phrase if is_registered else "",
        httpVersion=HTTP,
        headers=_records(headers),
        content=_content(entry, body),
        redirectURL=next((text for name, text in headers.items() if name.lower() == "location"), ""),
        bodySize=-1 if body is None else len(body),
    )


def _content(entry: Entry, body: bytes | None) -> harfile.Content:
    media_type = next((text for name, text in entry.answer_headers.items() if name.lower() == "content-type"), "")
    if body is None:  # a size, and no text: those who read it see that there was a body
        return harfile.Content(size=max(1, len(entry.answer)), mimeType=media_type)
    try:
        return harfile.Content(size=len(body), mimeType=media_type, text=masked_whole(body.decode("utf-8")))
    except UnicodeDecodeError:
        return harfile.Content(len(body), mimeType=media_type, text=b64encode(body).decode(), encoding="base64")


def _records(headers: dict[str, str]) -> list[harfile.Record]:
    return [harfile.Record(name, text) for name, text in headers.items()]


VARIABLE = "$API_KEY"
CONTROL = "/_mock"
CONTROLS = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")
MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)
SAFE_FOR_CURL = "/:@!$&'()*+,;=~-._[]"
HEADERS_TO_REPEAT = (
    "Accept",
    "Content-Type",
    "Prefer",
    "X-Http-Method-Override",
)  # headers that a request is sent again with


def curl(entry: Entry, host_url: str) -> str:
    """The request as a curl command; keys are left to a variable, as the journal shows none.

    Whatever the client sent, it names no file of the machine that the command runs on: FILE stands for each.

    Args:
        entry: the request.
        host_url: where to send it, with a slash at the end.
    """
    if any("=" in name for name in entry.files):
        return "# curl cannot send a part whose name has an equals sign"
    words = ["--head"] if entry.method == "HEAD" else ["-X", entry.method]
    is_form = bool(entry.fields or entry.files)
    for name, value in _headers(entry).items():
        if not (is_form and name == "Content-Type"):
            words += ["-H", f"{name}: {value}"]
    flag = "--data-urlencode" if entry.media_type.endswith("urlencoded") else "--form-string"
    for name, text in entry.fields.items():
        words += [flag, f"{quote(name) if flag == '--data-urlencode' else name}={text}"]
    for name, file in entry.files.items():
        file_name = file.name.replace("\\", "\\\\").replace('"', '\\"')
        media_type = f";type={file.media_type}" if MEDIA_TYPE.fullmatch(file.media_type) else ""
        words += ["-F", f'{name}=@FILE;filename="{file_name}"{media_type}']
    if entry.body:
        words += ["--data-raw", entry.body]
    query = "?" + "".join(char if "!" <= char <= "~" else quote(char) for char in entry.query) if entry.query else ""
    path = quote(entry.path, safe=SAFE_FOR_CURL)
    if path.startswith(CONTROL):  # it was sent in other characters, as the control plane is not in the journal
        path = path.replace("_", "%5F", 1)
    target = path + query
    if not target.startswith("/"):  # of OPTIONS *
        words += ["--request-target", target]
        target = "/"
    words.append(host_url.rstrip("/") + target)
    key = f' -H "Authorization: Bearer {VARIABLE}"' if entry.account and not is_sandbox(entry.account) else ""
    return f"curl -i --globoff --path-as-is{key} {' '.join(map(_quoted, words))}"


def _quoted(text: str) -> str:
    """A text for a shell; a control character stands as its number, as a terminal obeys it when it is pasted."""

    def number(match: re.Match[str]) -> str:
        octal = "".join(f"\\{byte:03o}" for byte in match[0].encode())
        return f"""'"$(printf '{octal}')"'"""

    return CONTROLS.sub(number, shlex.quote(text))  # which has all of them between single quotes


def _headers(entry: Entry) -> dict[str, str]:
    """The headers that matter; the key only of a sandbox, whose name it is."""
    key = entry.account if is_sandbox(entry.account) else ""
    repeated_headers = {name: text for name in HEADERS_TO_REPEAT if (text := entry.headers.get(name, "*/*")) != "*/*"}
    return ({"Authorization": f"Bearer {key}"} if key else {}) | repeated_headers
