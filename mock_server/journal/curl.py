"""A request of the journal as a curl command."""

from __future__ import annotations

import re
import shlex
from urllib.parse import quote

from mock_server.journal.journal import Entry
from mock_server.settings import is_sandbox

VARIABLE = "$API_KEY"
CONTROL = "/_mock"
MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)
SAFE = "/:@!$&'()*+,;=~-._[]"
KEPT = ("Accept", "Content-Type", "Prefer", "X-Http-Method-Override")  # headers that a request is sent again with


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
    query = "?" + "".join(each if "!" <= each <= "~" else quote(each) for each in entry.query) if entry.query else ""
    path = quote(entry.path, safe=SAFE)
    if path.startswith(CONTROL):  # it was sent in other characters, as the control plane is not in the journal
        path = path.replace("_", "%5F", 1)
    words.append(host_url.rstrip("/") + path + query)
    key = f' -H "Authorization: Bearer {VARIABLE}"' if entry.account and not is_sandbox(entry.account) else ""
    return f"curl -i --globoff --path-as-is{key} {shlex.join(words)}"


def _headers(entry: Entry) -> dict[str, str]:
    """The headers that matter; the key only of a sandbox, whose name it is."""
    key = entry.account if is_sandbox(entry.account) else ""
    own = {name: text for name in KEPT if (text := entry.headers.get(name, "*/*")) != "*/*"}
    return ({"Authorization": f"Bearer {key}"} if key else {}) | own
