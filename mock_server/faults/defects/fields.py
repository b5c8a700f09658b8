"""Forms that are refused, or accepted, for their fields."""

from __future__ import annotations

from collections.abc import Callable

from werkzeug.wrappers import Response

from mock_server.faults.call import Call, Serve, done
from mock_server.faults.defects.defect import RESOURCES, TYPES, D, Defect, N, S
from mock_server.faults.defects.means import answers, gives, has

MADE_UP = {"name": "Untitled", "host": "untitled-{}.example.com", "type": "webhook"}
OPTIONAL = {
    kind: [field.name for field in RESOURCES[kind].fields.values() if not field.required and field.kind != "file"]
    for kind in (S, D)
}
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
    """Say that a record was made where a required field is missing, and make none."""
    required = [field.name for field in call.resource.fields.values() if field.required]
    if (
        call.operation == "create"
        and call.account
        and call.parts
        and not all(has(name)(call.form) for name in required)
    ):
        return call.service.representations.json({"data": {"id": 999_999}}, 201)
    return serve(call)


DEFECTS = (
    *(
        Defect(
            f"{SINGULAR[kind]}-without-{field}-is-made",
            f"forms.{field}-required",
            f"A create without `{field}` makes a record, with one that is made up.",
            _filled_in(field),
            (kind,),
        )
        for kind, field in ((S, "name"), (D, "host"), (N, "name"), (N, "type"))
    ),
    *(
        Defect(
            f"{SINGULAR[kind]}-without-{field}-is-refused-and-made",
            f"forms.{field}-required",
            f"A create without `{field}` is refused, and makes a record all the same.",
            _filled_in(field, 400),
            (kind,),
        )
        for kind, field in ((S, "name"), (D, "host"), (N, "type"))
    ),
    Defect(
        "splash-page-without-name-is-called-made",
        "forms.name-required",
        "A create without `name` is told that it succeeded, and makes no record.",
        _called_made,
        (S,),
    ),
    *(
        Defect(
            f"{SINGULAR[kind]}-needs-{field.replace('_', '-')}",
            "forms.required-fields-alone-suffice",
            f"A create without `{field}` is refused, where it is optional.",
            answers("create", 422, when=lambda call, field=field: bool(call.parts) and not gives(field)(call)),  # type: ignore[misc]
            (kind,),
        )
        for kind, field in ((S, "title"), (D, "custom_index_url"), (N, "webhook"))
    ),
    *(
        Defect(
            f"create-takes-no-{field.replace('_', '-')}",
            "forms.optional-fields-are-accepted-on-create",
            f"A create with `{field}` is refused.",
            answers("create", 400, when=gives(field)),
            (kind,),
        )
        for kind, fields in OPTIONAL.items()
        for field in fields[::2]
    ),
    *(
        Defect(
            f"update-takes-no-{field.replace('_', '-')}",
            "forms.optional-fields-are-accepted-on-update",
            f"An update with `{field}` is refused.",
            answers("update", 422, when=gives(field)),
            (kind,),
        )
        for kind, fields in {
            S: OPTIONAL[S][1::2],
            D: OPTIONAL[D][1:],
            N: ("email", "slack", "telegram_chat_id"),
        }.items()
        for field in fields
    ),
    *(
        Defect(
            f"{SINGULAR[kind]}-update-needs-{field}",
            "forms.required-fields-are-optional-on-update",
            f"An update without `{field}` is refused.",
            answers("update", 400, when=lambda call, field=field: bool(call.parts) and not gives(field)(call)),  # type: ignore[misc]
            (kind,),
        )
        for kind, field in ((S, "name"), (D, "host"), (N, "name"), (N, "type"))
    ),
    *(
        Defect(
            f"{operation}-takes-no-{field}",
            "forms.files-are-accepted",
            f"A file in `{field}` makes {'a create' if operation == 'create' else 'an update'} {how}.",
            answers(operation, status, when=gives(field)),
            (S,),
        )
        for operation, field, status, how in (
            ("create", "logo", 422, "refused"),
            ("create", "favicon", 415, "refused"),
            ("create", "opengraph", 500, "fail"),
            ("update", "logo", 500, "fail"),
            ("update", "favicon", 400, "refused"),
            ("update", "opengraph", 501, "refused"),
        )
    ),
    *(
        Defect(
            f"type-{name.replace('_', '-')}-is-refused",
            "forms.types-are-accepted",
            f"No handler of type `{name}` can be made.",
            answers("create", 400, when=lambda call, name=name: call.form.get("type") == name),  # type: ignore[misc]
            (N,),
        )
        for name in TYPES
    ),
)
