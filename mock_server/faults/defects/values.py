"""Forms whose values become something else."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import unquote

from werkzeug.wrappers import Response

from mock_server.faults.call import Call, Serve
from mock_server.faults.defects.defect import TYPES, N, S, Table, defect
from mock_server.faults.defects.means import also, changes, form, has, ignores, loses, made_id, record, turns


def _latin(text: str) -> str:
    return text.encode().decode("latin-1")


def _misread(settings: dict[str, Any]) -> dict[str, Any]:
    other = {name: value for name, value in settings.items() if isinstance(value, str) and name != "email"}
    return settings | {name: _latin(value) for name, value in other.items()}


def _changed(field: str, change: Callable[[str], str]) -> Callable[[dict[str, str]], dict[str, str]]:
    return lambda fields: fields | {field: change(fields[field])}


def _without_dots(email: str) -> str:
    local, at, host = email.rpartition("@")
    return f"{local.replace('.', '')}{at}{host}"


def _starts(word: str, enabled: bool) -> Callable[[Call, Response], None]:  # noqa: FBT001 - what the word is taken for
    """Let `is_enabled` take effect in a create."""

    def effect(call: Call, answer: Response) -> None:
        if call.form.get("is_enabled") == word:
            _enable(call, made_id(call, answer), enabled)

    return effect


def _enable(call: Call, identifier: int, enabled: bool) -> None:  # noqa: FBT001 - the value itself
    call.collection.update(identifier, lambda old: replace(old, values={**old.values, "is_enabled": enabled}))


def _toggles(call: Call, serve: Serve) -> Response:
    if call.operation == "update" and call.record and "is_enabled" in call.form:
        word = "0" if call.record.values["is_enabled"] else "1"
        return serve(call.sending(call.form | {"is_enabled": word}))
    return serve(call)


VERBATIM = {"url-form": "verbatim"}

# fmt: off
DEFECTS: Table = {
    "forms.name-comes-back": [
        defect("name-is-misread", "Names are read in another encoding than they were sent in.",
               changes("name", _latin)),
        defect("name-is-capital-on-create", "A create turns names into capital letters.",
               changes("name", str.upper, "create")),
        defect("name-is-marked-on-update", "An update puts an exclamation mark behind names.",
               changes("name", lambda name: f"{name}!", "update")),
        defect("name-is-cut", "Names are cut at ten characters.", changes("name", lambda name: name[:10])),
        defect("name-loses-other-scripts", "Names lose all letters beyond ASCII.",
               changes("name", lambda name: name.encode("ascii", "ignore").decode()), needs={"text": "verbatim"}),
        defect("name-is-a-slug", "Spaces in names become hyphens.",
               changes("name", lambda name: name.replace(" ", "-"))),
        defect("name-loses-zeros", "A name of digits loses the zeros in front.",
               changes("name", lambda name: name.lstrip("0") if name.isdecimal() else name)),
        defect("name-loses-hyphens", "Names lose their hyphens.",
               changes("name", lambda name: name.replace("-", "")), needs={"text": "verbatim"}),
        defect("name-escapes-hyphens", "Names show entities for hyphens.",
               changes("name", lambda name: name.replace("-", "&#45;")), needs={"text": "verbatim"}),
    ],
    "forms.host-comes-back": [
        defect("host-gets-www", "Hosts get `www.` in front.", changes("host", lambda host: f"www.{host}", "create")),
        defect("host-is-marked-on-update", "An update puts a dot behind hosts.",
               changes("host", lambda host: f"{host}.local", "update")),
        defect("host-loses-hyphens", "Hosts lose their hyphens.", changes("host", lambda host: host.replace("-", ""))),
    ],
    "forms.custom-index-url-comes-back": [
        defect("index-url-loses-its-path", "A `custom_index_url` loses its path.",
               changes("custom_index_url", lambda url: "/".join(url.split("/")[:3]))),
        defect("index-url-gets-another-scheme", "A `custom_index_url` with `https` gets `http`.",
               changes("custom_index_url", lambda url: url.replace("https:", "http:"))),
        defect("index-url-loses-its-query", "A `custom_index_url` loses its query.",
               changes("custom_index_url", lambda url: re.sub(r"\?[^#]*", "", url)), needs=VERBATIM),
        defect("index-url-loses-its-fragment", "A `custom_index_url` loses its fragment.",
               changes("custom_index_url", lambda url: url.partition("#")[0]), needs=VERBATIM),
        defect("index-url-loses-plus-signs", "A `custom_index_url` has spaces for plus signs.",
               changes("custom_index_url", lambda url: url.replace("+", "%20")), needs=VERBATIM),
        defect("index-url-loses-percent-signs", "A `custom_index_url` has its escapes read.",
               changes("custom_index_url", unquote), needs=VERBATIM),
        defect("index-url-loses-capitals", "A `custom_index_url` is written in small letters.",
               changes("custom_index_url", str.lower), needs=VERBATIM),
        defect("index-url-is-ignored-on-create", "A create ignores `custom_index_url`.",
               ignores("custom_index_url", "create")),
    ],
    "forms.email-comes-back": [
        defect("email-loses-its-tag", "An address loses what follows a plus sign.",
               changes("email", lambda email: re.sub(r"\+[^@]*", "", email))),
        defect("email-loses-dots", "An address loses the dots before its domain.", changes("email", _without_dots)),
        defect("email-is-ignored-on-create", "A create ignores the address of a handler of type `email`.",
               form("create", lambda f: f | {"email": ""}, has("email")), needs={"email-missing": "accepted"}),
        defect("email-is-obscured", "An address is stored with stars.",
               changes("email", lambda email: f"{email[:1]}***{email[email.find('@') :]}")),
    ],
    "representations.name-is-a-string": [
        defect("name-of-digits-is-a-number", "A name of digits is shown as a number.",
               record(turns("name", int), row=lambda row: str(row.get("name", "")).isdecimal()), S, N),
    ],
    "forms.custom-not-found-url-stays-apart": [
        defect("not-found-url-becomes-the-index-url", "A `custom_not_found_url` is stored as `custom_index_url`.",
               form("create update", lambda f: f | {"custom_index_url": f["custom_not_found_url"]},
                    has("custom_not_found_url"))),
        defect("not-found-url-clears-the-index-url", "An update of `custom_not_found_url` clears `custom_index_url`.",
               form("update", lambda f: {"custom_index_url": ""} | f, has("custom_not_found_url")),
               needs={"cleared-text": "emptied"}),
    ],
    "forms.type-comes-back": [
        defect("slack-becomes-webhook", "A handler of type `slack` is made as one of type `webhook`.",
               form("create", lambda f: f | {"type": "webhook"}, lambda f: f.get("type") == "slack"),
               needs={"other-types-fields": "ignored"}),
        defect("every-type-is-webhook", "Every handler is made as one of type `webhook`.",
               form("create", lambda f: f | {"type": "webhook"}, lambda f: f.get("type") in TYPES),
               needs={"other-types-fields": "ignored"}),
    ],
    "forms.type-fields-show-in-settings": [
        defect("webhook-is-lost", "What is given as `webhook` does not show in the settings.", ignores("webhook")),
        defect("slack-is-lost", "What is given as `slack` does not show in the settings.", ignores("slack")),
        defect("telegram-is-lost", "What is given as `telegram` does not show in the settings.", ignores("telegram")),
        defect("telegram-chat-id-is-lost", "What is given as `telegram_chat_id` does not show in the settings.",
               ignores("telegram_chat_id")),
        defect("settings-are-read-as-latin-1", "Texts in settings are taken for Latin-1.",
               record(turns("settings", _misread))),
    ],
    "forms.one-enables": [
        defect("one-disables", "An update with `is_enabled` of `1` disables.",
               form("update", lambda f: f | {"is_enabled": "0"}, has("is_enabled"))),
        defect("only-true-enables", "An update with `is_enabled` of `1` has no influence, only the word does.",
               form("update", loses("is_enabled"), lambda f: f.get("is_enabled") == "1")),
        defect("is-enabled-toggles", "Any `is_enabled` turns the state around.", _toggles),
    ],
    "forms.zero-disables": [
        defect("zero-has-no-influence", "An update with `is_enabled` of `0` has no influence.",
               form("update", loses("is_enabled"), lambda f: f.get("is_enabled") == "0")),
        defect("zero-enables", "Any `is_enabled` enables.",
               form("update", lambda f: f | {"is_enabled": "1"}, has("is_enabled"))),
    ],
    "forms.is-enabled-is-optional-on-update": [
        defect("update-enables", "An update without `is_enabled` enables.",
               form("update", lambda f: {"is_enabled": "1"} | f)),
        defect("update-disables", "An update without `is_enabled` disables, as a form's empty box does.",
               form("update", lambda f: {"is_enabled": "0"} | f)),
    ],
    "forms.is-enabled-is-not-accepted-on-create": [
        defect("create-takes-a-zero", "A create with `is_enabled` of `0` makes a handler that is disabled.",
               also("create", _starts("0", enabled=False)),
               needs={"is-enabled-on-create": "ignored", "handler-starts": "enabled"}),
        defect("create-takes-a-one", "A create with `is_enabled` of `1` makes a handler that is enabled.",
               also("create", _starts("1", enabled=True)),
               needs={"is-enabled-on-create": "ignored", "handler-starts": "disabled"}),
    ],
}
# fmt: on
