"""Forms that are wrongly refused or accepted for their fields."""

from __future__ import annotations

from collections.abc import Callable

from werkzeug.wrappers import Response

from mock_server.faults.call import Call, Serve, done
from mock_server.faults.defects.defect import TYPES, D, Defect, N, S, Table, defect, hyphenated
from mock_server.faults.defects.means import Asked, answers, gives, has

MADE_UP = {"name": "Untitled", "host": "untitled-{}.example.com", "type": "webhook"}
MANY = 8  # fields
SINGULAR = {S: "splash-page", D: "domain", N: "handler"}


def _filled_in(field: str, status: int | None = None) -> Callable[[Call, Serve], Response]:
    """Make up a required field that is missing; answer with another status, if one is given."""

    def transformation(call: Call, serve: Serve) -> Response:
        if call.operation != "create" or not call.account or not call.parts or field in call.form:
            return serve(call)
        call.memory["count"] = call.memory.get("count", 0) + 1
        answer = serve(call.sending(call.form | {field: MADE_UP[field].format(call.memory["count"])}))
        return Response(b"{}", status, content_type="application/json") if status and done(call, answer) else answer

    return transformation


def _called_made(call: Call, serve: Serve) -> Response:
    """Where a required field is missing, answer as if a record was made, and make none."""
    required = [field.name for field in call.resource.fields.values() if field.required]
    if (
        call.operation == "create"
        and call.account
        and call.parts
        and not all(has(name)(call.form) for name in required)
    ):
        return call.service.representations.json({"data": {"id": 999_999}}, 201)
    return serve(call)


def _lacks(field: str) -> Asked:
    """Whether a form lacks a field."""
    return lambda call: bool(call.parts) and not gives(field)(call)


def _is_made(resource: str, field: str) -> Callable[[str], Defect]:
    what = f"A create without `{field}` makes a record, with one that is made up."
    return defect(f"{SINGULAR[resource]}-without-{field}-is-made", what, _filled_in(field), resource)


def _is_refused_and_made(resource: str, field: str) -> Callable[[str], Defect]:
    what = f"A create without `{field}` is refused, and makes a record all the same."
    return defect(f"{SINGULAR[resource]}-without-{field}-is-refused-and-made", what, _filled_in(field, 400), resource)


def _needs(resource: str, field: str) -> Callable[[str], Defect]:
    name, what = (
        f"{SINGULAR[resource]}-needs-{hyphenated(field)}",
        f"A create without `{field}` is refused, where it is optional.",
    )
    return defect(name, what, answers("create", 422, when=_lacks(field)), resource)


def _create_takes_no(resource: str, field: str) -> Callable[[str], Defect]:
    name, what = f"create-takes-no-{hyphenated(field)}", f"A create with `{field}` is refused."
    return defect(name, what, answers("create", 400, when=gives(field)), resource)


def _update_takes_no(resource: str, field: str) -> Callable[[str], Defect]:
    name, what = f"update-takes-no-{hyphenated(field)}", f"An update with `{field}` is refused."
    return defect(name, what, answers("update", 422, when=gives(field)), resource)


def _update_needs(resource: str, field: str) -> Callable[[str], Defect]:
    what = f"An update without `{field}` is refused."
    return defect(
        f"{SINGULAR[resource]}-update-needs-{field}", what, answers("update", 400, when=_lacks(field)), resource
    )


def _file(operation: str, field: str, status: int, how: str) -> Callable[[str], Defect]:
    what = f"A file in `{field}` makes {'a create' if operation == 'create' else 'an update'} {how}."
    return defect(f"{operation}-takes-no-{field}", what, answers(operation, status, when=gives(field)), S)


def _type(name: str) -> Callable[[str], Defect]:
    refused = answers("create", 400, when=lambda call: call.form.get("type") == name)
    return defect(f"type-{hyphenated(name)}-is-refused", f"No handler of type `{name}` can be made.", refused, N)


# fmt: off
DEFECTS: Table = {
    "forms.name-required": [
        _is_made(S, "name"),
        _is_made(N, "name"),
        _is_refused_and_made(S, "name"),
        defect("splash-page-without-name-is-called-made",
               "A create without `name` is told that it succeeded, and makes no record.",
               _called_made, S),
    ],
    "forms.host-required": [_is_made(D, "host"), _is_refused_and_made(D, "host")],
    "forms.type-required": [_is_made(N, "type"), _is_refused_and_made(N, "type")],
    "forms.required-fields-alone-suffice": [_needs(S, "title"), _needs(D, "custom_index_url"), _needs(N, "webhook")],
    "forms.optional-fields-are-accepted-on-create": [
        defect("many-fields-are-forbidden", "A create with more than eight fields is forbidden.",
               answers("create", 403, when=lambda call: len(call.parts) > MANY), S),
        _create_takes_no(S, "title"),
        _create_takes_no(S, "secondary_button_name"),
        _create_takes_no(S, "custom_css"),
        _create_takes_no(S, "ads_header"),
        _create_takes_no(S, "link_unlock_seconds"),
        _create_takes_no(D, "custom_index_url"),
    ],
    "forms.optional-fields-are-accepted-on-update": [
        _update_takes_no(S, "description"),
        _update_takes_no(S, "secondary_button_url"),
        _update_takes_no(S, "custom_js"),
        _update_takes_no(S, "ads_footer"),
        _update_takes_no(S, "auto_redirect"),
        _update_takes_no(D, "custom_not_found_url"),
        _update_takes_no(N, "email"),
        defect("chat-alone-is-refused", "An update of a bot's chat without its token is refused.",
               answers("update", 422, when=lambda call: set(call.form) == {"telegram_chat_id"}), N),
        defect("two-files-are-too-large", "An update with more than one file is refused as too large.",
               answers("update", 413, when=lambda call: call.body.count(b'filename="') > 1), S),
        _update_takes_no(N, "slack"),
        _update_takes_no(N, "telegram_chat_id"),
    ],
    "forms.required-fields-are-optional-on-update": [
        _update_needs(S, "name"),
        _update_needs(D, "host"),
        _update_needs(N, "name"),
        _update_needs(N, "type"),
    ],
    "forms.files-are-accepted": [
        _file("create", "logo", 422, "refused"),
        _file("create", "favicon", 415, "refused"),
        _file("create", "opengraph", 500, "fail"),
        _file("update", "logo", 500, "fail"),
        _file("update", "favicon", 400, "refused"),
        _file("update", "opengraph", 501, "refused"),
    ],
    "forms.types-are-accepted": [_type(name) for name in TYPES],
}
# fmt: on
