"""Forms whose values become something else."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import unquote

from werkzeug.wrappers import Response

from mock_server.faults.call import Call, Serve
from mock_server.faults.defects.defect import TYPES, Defect, N, S
from mock_server.faults.defects.means import also, form, has, loses, made_id, record, turns


def _latin(text: str) -> str:
    return text.encode().decode("latin-1")


def _changed(field: str, change: Callable[[str], str]) -> Callable[[dict[str, str]], dict[str, str]]:
    return lambda fields: fields | {field: change(fields[field])}


def _without_dots(email: str) -> str:
    local, at, host = email.rpartition("@")
    return f"{local.replace('.', '')}{at}{host}"


def _starts(word: str, enabled: bool) -> Callable[[Call, Response], None]:  # noqa: FBT001 - what the word is taken for
    """Let `is_enabled` in a create have influence."""

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


DEFECTS = (
    Defect(
        "name-is-misread",
        "forms.name-comes-back",
        "Names are read in another encoding than they were sent in.",
        form("create update", _changed("name", _latin), has("name")),
    ),
    Defect(
        "name-is-capital-on-create",
        "forms.name-comes-back",
        "A create turns names into capital letters.",
        form("create", _changed("name", str.upper), has("name")),
    ),
    Defect(
        "name-is-marked-on-update",
        "forms.name-comes-back",
        "An update puts an exclamation mark behind names.",
        form("update", _changed("name", lambda name: f"{name}!"), has("name")),
    ),
    Defect(
        "name-is-cut",
        "forms.name-comes-back",
        "Names are cut at ten characters.",
        form("create update", _changed("name", lambda name: name[:10]), has("name")),
    ),
    Defect(
        "name-loses-other-scripts",
        "forms.name-comes-back",
        "Names lose all letters beyond ASCII.",
        form("create update", _changed("name", lambda name: name.encode("ascii", "ignore").decode()), has("name")),
        needs={"text": "verbatim"},
    ),
    Defect(
        "name-is-a-slug",
        "forms.name-comes-back",
        "Spaces in names become hyphens.",
        form("create update", _changed("name", lambda name: name.replace(" ", "-")), has("name")),
    ),
    Defect(
        "host-gets-www",
        "forms.host-comes-back",
        "Hosts get `www.` in front.",
        form("create", _changed("host", lambda host: f"www.{host}"), has("host")),
    ),
    Defect(
        "host-is-marked-on-update",
        "forms.host-comes-back",
        "An update puts a dot behind hosts.",
        form("update", _changed("host", lambda host: f"{host}.local"), has("host")),
    ),
    Defect(
        "host-loses-hyphens",
        "forms.host-comes-back",
        "Hosts lose their hyphens.",
        form("create update", _changed("host", lambda host: host.replace("-", "")), has("host")),
    ),
    Defect(
        "index-url-loses-its-path",
        "forms.custom-index-url-comes-back",
        "A `custom_index_url` loses its path.",
        form(
            "create update",
            _changed("custom_index_url", lambda url: "/".join(url.split("/")[:3])),
            has("custom_index_url"),
        ),
    ),
    Defect(
        "index-url-gets-another-scheme",
        "forms.custom-index-url-comes-back",
        "A `custom_index_url` with `https` gets `http`.",
        form(
            "create update",
            _changed("custom_index_url", lambda url: url.replace("https:", "http:")),
            has("custom_index_url"),
        ),
    ),
    *(
        Defect(
            f"index-url-loses-{part}",
            "forms.custom-index-url-comes-back",
            f"A `custom_index_url` {what}.",
            form("create update", _changed("custom_index_url", change), has("custom_index_url")),
            needs={"url-form": "verbatim"},
        )
        for part, what, change in (
            ("its-query", "loses its query", lambda url: re.sub(r"\?[^#]*", "", url)),
            ("its-fragment", "loses its fragment", lambda url: url.partition("#")[0]),
            ("plus-signs", "has spaces for plus signs", lambda url: url.replace("+", "%20")),
            ("percent-signs", "has its escapes read", unquote),
            ("capitals", "is written in small letters", str.lower),
        )
    ),
    Defect(
        "email-loses-its-tag",
        "forms.email-comes-back",
        "An address loses what follows a plus sign.",
        form("create update", _changed("email", lambda email: re.sub(r"\+[^@]*", "", email)), has("email")),
    ),
    Defect(
        "email-loses-dots",
        "forms.email-comes-back",
        "An address loses the dots before its domain.",
        form(
            "create update",
            _changed("email", _without_dots),
            has("email"),
        ),
    ),
    Defect(
        "name-loses-zeros",
        "forms.name-comes-back",
        "A name of digits loses the zeros in front.",
        form(
            "create update", _changed("name", lambda name: name.lstrip("0") if name.isdecimal() else name), has("name")
        ),
    ),
    Defect(
        "name-of-digits-is-a-number",
        "representations.name-is-a-string",
        "A name of digits is shown as a number.",
        record(turns("name", int), row=lambda row: str(row.get("name", "")).isdecimal()),
        (S, N),
    ),
    *(
        Defect(
            f"name-{what}-hyphens",
            "forms.name-comes-back",
            f"Names {told}.",
            form("create update", _changed("name", change), has("name")),
            needs={"text": "verbatim"},
        )
        for what, told, change in (
            ("loses", "lose their hyphens", lambda name: name.replace("-", "")),
            ("escapes", "show entities for hyphens", lambda name: name.replace("-", "&#45;")),
        )
    ),
    Defect(
        "index-url-is-ignored-on-create",
        "forms.custom-index-url-comes-back",
        "A create ignores `custom_index_url`.",
        form("create", loses("custom_index_url"), has("custom_index_url")),
    ),
    Defect(
        "not-found-url-becomes-the-index-url",
        "forms.custom-not-found-url-stays-apart",
        "A `custom_not_found_url` is stored as `custom_index_url`.",
        form(
            "create update", lambda f: f | {"custom_index_url": f["custom_not_found_url"]}, has("custom_not_found_url")
        ),
    ),
    Defect(
        "not-found-url-clears-the-index-url",
        "forms.custom-not-found-url-stays-apart",
        "An update of `custom_not_found_url` clears `custom_index_url`.",
        form("update", lambda f: {"custom_index_url": ""} | f, has("custom_not_found_url")),
        needs={"cleared-text": "emptied"},
    ),
    Defect(
        "slack-becomes-webhook",
        "forms.type-comes-back",
        "A handler of type `slack` is made as one of type `webhook`.",
        form("create", lambda f: f | {"type": "webhook"}, lambda f: f.get("type") == "slack"),
        needs={"other-types-fields": "ignored"},
    ),
    Defect(
        "every-type-is-webhook",
        "forms.type-comes-back",
        "Every handler is made as one of type `webhook`.",
        form("create", lambda f: f | {"type": "webhook"}, lambda f: f.get("type") in TYPES),
        needs={"other-types-fields": "ignored"},
    ),
    Defect(
        "email-is-ignored-on-create",
        "forms.email-comes-back",
        "A create ignores the address of a handler of type `email`.",
        form("create", lambda f: f | {"email": ""}, has("email")),
        needs={"email-missing": "accepted"},
    ),
    Defect(
        "email-is-obscured",
        "forms.email-comes-back",
        "An address is stored with stars.",
        form(
            "create update", _changed("email", lambda email: f"{email[:1]}***{email[email.find('@') :]}"), has("email")
        ),
    ),
    *(
        Defect(
            f"{name.replace('_', '-')}-is-lost",
            "forms.type-fields-show-in-settings",
            f"What is given as `{name}` does not show in the settings.",
            form("create update", loses(name), has(name)),
        )
        for name in ("webhook", "slack", "telegram", "telegram_chat_id")
    ),
    Defect(
        "one-disables",
        "forms.one-enables",
        "An update with `is_enabled` of `1` disables.",
        form("update", lambda f: f | {"is_enabled": "0"}, has("is_enabled")),
    ),
    Defect(
        "only-true-enables",
        "forms.one-enables",
        "An update with `is_enabled` of `1` has no influence, only the word does.",
        form("update", loses("is_enabled"), lambda f: f.get("is_enabled") == "1"),
    ),
    Defect("is-enabled-toggles", "forms.one-enables", "Any `is_enabled` turns the state around.", _toggles),
    Defect(
        "zero-has-no-influence",
        "forms.zero-disables",
        "An update with `is_enabled` of `0` has no influence.",
        form("update", loses("is_enabled"), lambda f: f.get("is_enabled") == "0"),
    ),
    Defect(
        "zero-enables",
        "forms.zero-disables",
        "Any `is_enabled` enables.",
        form("update", lambda f: f | {"is_enabled": "1"}, has("is_enabled")),
    ),
    Defect(
        "update-enables",
        "forms.is-enabled-is-optional-on-update",
        "An update without `is_enabled` enables.",
        form("update", lambda f: {"is_enabled": "1"} | f),
    ),
    Defect(
        "update-disables",
        "forms.is-enabled-is-optional-on-update",
        "An update without `is_enabled` disables, as a form's empty box does.",
        form("update", lambda f: {"is_enabled": "0"} | f),
    ),
    Defect(
        "create-takes-a-zero",
        "forms.is-enabled-is-not-accepted-on-create",
        "A create with `is_enabled` of `0` makes a handler that is disabled.",
        also("create", _starts("0", enabled=False)),
        needs={"is-enabled-on-create": "ignored", "handler-starts": "enabled"},
    ),
    Defect(
        "create-takes-a-one",
        "forms.is-enabled-is-not-accepted-on-create",
        "A create with `is_enabled` of `1` makes a handler that is enabled.",
        also("create", _starts("1", enabled=True)),
        needs={"is-enabled-on-create": "ignored", "handler-starts": "disabled"},
    ),
)
