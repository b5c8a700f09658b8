"""The console's pages of the journal: requests with filters, one of them as a curl command, and sent once more."""

from __future__ import annotations

import json
import re
import shlex
from typing import Any
from urllib.parse import quote

from flask import Blueprint, abort, redirect, render_template, request, url_for
from werkzeug.test import Client
from werkzeug.wrappers import Response as AnyResponse

from mock_server.control.instance import Instance
from mock_server.http.masking import MASKED
from mock_server.journal.journal import Entry
from mock_server.journal.recorder import LONGEST_TEXT
from mock_server.settings import is_sandbox

MOST_SHOWN = 200  # entries
FILTERS = ("account", "method", "path", "status", "remarks")
METHODS = ("GET", "POST", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS")
DEEPEST = 20  # levels that are shown
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"?|[{}\[\],:]|[^\s"{}\[\],:]+')
VARIABLE = "$API_KEY"
CONTROL = "/_mock"
MEDIA_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)
SAFE = "/:@!$&'()*+,;=~-._[]"
KEPT = ("Accept", "Content-Type", "Prefer", "X-Http-Method-Override")  # headers that a request is sent again with


OF_ANOTHER = "the journal keeps no keys, and only the deployment knows them."


def add_journal(console: Blueprint, running: Instance) -> None:
    """Add the pages of the journal."""
    is_in_front = running.settings.deployment is not None

    def reason(found: Entry) -> str:
        return OF_ANOTHER if is_in_front else why_not(found)

    @console.get("/_mock/console/journal")
    def journal() -> str:
        wanted = {name: value for name in FILTERS if (value := request.args.get(name, "").strip())}
        if "account" in wanted:
            wanted["account"] = running.account_named(wanted["account"])
        shows_preflights = "preflights" in request.args or wanted.get("method") == "OPTIONS"
        found = running.journal.find(**wanted)
        entries = [entry for entry in found if shows_preflights or not entry.is_preflight][-MOST_SHOWN:][::-1]
        return render_template(
            "journal.html", entries=entries, wanted=wanted, methods=METHODS, shows_preflights=shows_preflights
        )

    @console.get("/_mock/console/journal/<int:number>")
    def entry(number: int) -> str:
        found = _found(running, number)
        return render_template("entry.html", entry=found, curl=curl(found), why_not=reason(found), indented=indented)

    @console.post("/_mock/console/journal/<int:number>/replay")
    def replay(number: int) -> AnyResponse:
        found = _found(running, number)
        if told := reason(found):
            abort(400, f"It cannot be sent again: {told}")
        _send(running, found)
        latest = running.journal.find()[-1].number
        return redirect(url_for("console.entry", number=latest, done="replayed"), 303)

    @console.post("/_mock/console/journal/clear")
    def clear() -> AnyResponse:
        running.clear_journal()
        return redirect(url_for("console.journal", done="cleared"), 303)


def _found(running: Instance, number: int) -> Entry:
    found = running.journal.entry(number)
    if found is None:
        abort(404, f"Request {number} is not in the journal any more.")
    return found


def indented(text: str) -> str:
    """JSON with a line for each value, also if only its beginning was kept; any other text as it is."""
    try:
        return json.dumps(json.loads(text), indent=2, ensure_ascii=False)
    except (ValueError, RecursionError):
        return _laid_out(text) if len(text) >= LONGEST_TEXT and text[0] in "{[" else text


def _laid_out(text: str) -> str:
    """The beginning of a JSON text with a line for each value, up to where it was cut off."""
    depth, lines = 0, ""
    for piece in TOKEN.findall(text):
        depth += (piece in "{[") - (piece in "}]")
        new_line = "\n" + "  " * min(depth, DEEPEST)
        if piece in "}]":
            lines += new_line + piece
        else:
            lines += piece + (new_line if piece in "{[," else " " if piece == ":" else "")
    return f"{lines} …"


def why_not(entry: Entry) -> str:
    """Why a request cannot be sent again, or an empty string."""
    if entry.files:
        return "the journal does not keep the files."
    if MASKED in entry.fields.values() or MASKED in entry.body:
        return "the journal does not keep its secrets."
    if entry.headers.get("Content-Length", "0") != "0" and not (entry.fields or entry.body):
        return "the journal did not keep its form, as it could not be read."
    if any(len(text) >= LONGEST_TEXT for text in (*entry.fields.values(), entry.body)):
        return "the journal keeps only the beginning of its texts."
    return ""


def curl(entry: Entry) -> str:
    """The request as a curl command; keys are left to a variable, as the journal shows none.

    Whatever the client sent, it names no file of the machine that the command runs on: FILE stands for each.
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
    words.append(request.host_url.rstrip("/") + path + query)
    key = f' -H "Authorization: Bearer {VARIABLE}"' if entry.account and not is_sandbox(entry.account) else ""
    return f"curl -i --globoff --path-as-is{key} {shlex.join(words)}"


def _headers(entry: Entry) -> dict[str, str]:
    """The headers that matter; the key only of a sandbox, whose name it is."""
    key = entry.account if is_sandbox(entry.account) else ""
    own = {name: text for name in KEPT if (text := entry.headers.get(name, "*/*")) != "*/*"}
    return ({"Authorization": f"Bearer {key}"} if key else {}) | own


def _send(running: Instance, entry: Entry) -> None:
    headers = _headers(entry)
    key = {name: key for key, name in running.service.accounts.keys.items()}.get(entry.account)
    if key:
        headers["Authorization"] = f"Bearer {key}"
    content: Any = entry.body.encode() or None
    if entry.fields:
        content = dict(entry.fields)
        if not entry.media_type.endswith("urlencoded"):
            headers["Content-Type"] = "multipart/form-data"
    path, query = (text.encode().decode("latin-1") for text in (entry.path, entry.query))  # as WSGI has them
    Client(running).open(
        "/",
        method=entry.method,
        environ_overrides={"PATH_INFO": path, "QUERY_STRING": query},
        headers={name: value for name, value in headers.items() if name != "Content-Type"},
        content_type=headers.get("Content-Type"),
        data=content,
        base_url=request.host_url,
    )
