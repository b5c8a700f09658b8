"""The console: pages for people, rendered here, without anything from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from io import BytesIO
from pathlib import Path
from typing import Any

import flask_swagger_ui
from flask import Blueprint, Response, abort, redirect, render_template, request, send_from_directory, url_for
from markupsafe import Markup, escape
from werkzeug.test import Client
from werkzeug.wrappers import Response as AnyResponse

from link_management_contract import Field, Resource
from mock_server.control.instance import Instance, told
from mock_server.control.journal_pages import add_journal
from mock_server.defects import DEFECTS
from mock_server.effects.conditions import CONDITIONS
from mock_server.errors import SettingsError
from mock_server.http.answers import NO_LENGTH
from mock_server.journal.recorder import BY_HAND
from mock_server.options import SWITCHES
from mock_server.store.accounts import Account
from mock_server.store.collection import UnknownIdError
from mock_server.store.uploads import Upload

LEAST_ERROR = 400  # among statuses


@dataclass(frozen=True)
class Problem:
    """Why a form was refused, and the field at fault, if one is."""

    what: str
    field: str = ""


def _save_record(
    running: Instance, key: str, resource: Resource, identifier: int | None, present: Mapping[str, Any]
) -> Problem | None:
    """Create or update a record with the form that was sent, without the fields that have not changed.

    Args:
        running: the mock.
        key: the key of the account.
        resource: the resource of the record.
        identifier: the id of the record to update, or None to create one.
        present: the present values of the record.

    Returns:
        Why it was refused, or None.
    """
    operation = "create" if identifier is None else "update"
    sent: dict[str, Any] = {
        name: text
        for name, field in resource.fields.items()
        if operation in field.operations and (text := _text(field, present)) is not None
    }
    for name, file in request.files.items():
        if file.filename and name in resource.fields:
            sent[name] = (BytesIO(file.read()), file.filename, file.mimetype)
    path = resource.paths[operation].replace("{id}", str(identifier))
    return _ask(running, key, "POST", path, sent)


def _delete_record(running: Instance, key: str, resource: Resource, identifier: int) -> Problem | None:
    """Delete a record, and return why that was refused, or None."""
    return _ask(running, key, "DELETE", resource.paths["delete"].replace("{id}", str(identifier)), None)


def _text(field: Field, present: Mapping[str, Any]) -> str | None:
    """The text to send for a field, or None to leave it out."""
    text = request.form.get(field.name)
    if field.kind == "file" or text is None:
        return None
    now = present.get(field.name, "")
    if text == {True: "1", False: "0"}.get(now, str(now)):
        return None
    return text


def _ask(running: Instance, key: str, method: str, path: str, form: dict[str, Any] | None) -> Problem | None:
    headers = {"Authorization": f"Bearer {key}", "User-Agent": "mock-server console"}
    prefix = running.settings.base_path
    answer = Client(running).open(
        prefix + path,
        method=method,
        headers=headers,
        data=form,
        content_type=None if form is None else "multipart/form-data",
        base_url=request.host_url,
        environ_overrides={BY_HAND: True},
    )
    if answer.headers.get("Content-Length") == NO_LENGTH:
        return Problem("The connection was closed without an answer, as a switch has it.")
    return _problem(answer.status_code, answer.text)


def _problem(status: int, text: str) -> Problem | None:
    """The error that an answer reports, or None; a service may report errors with a success status, too."""
    field = ""
    try:
        error = json.loads(text)["errors"][0]
        title, field = error["title"], str(error.get("field", ""))
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        title = "" if status < LEAST_ERROR else text[:200] or "no body"
    return Problem(f"The API answered {status}: {title}", field) if title else None


def _settings_in(running: Instance, form: Mapping[str, str]) -> dict[str, Any]:
    """Settings from the form of the switches.

    Raises:
        SettingsError: if a number is invalid.
    """
    points = running.service.contract.open_points.values()
    choices = {point.name: value for point in points if (value := form.get(f"open.{point.name}"))}
    conditions = {
        name.removeprefix("condition."): _number(name, text)
        for name, text in form.items()
        if name.startswith("condition.") and text.strip()
    }
    defects = tuple(name.removeprefix("defect.") for name in form if name.startswith("defect."))
    grease = form.get("grease", "").strip()
    return {
        "choices": choices,
        "conditions": conditions,
        "defects": defects,
        "grease": _whole("grease", grease) if grease else None,
    }


def _effect_in(form: Mapping[str, str]) -> dict[str, Any]:
    """An answer to force, from its form.

    Raises:
        SettingsError: if a number is invalid, or the body is no JSON.
    """
    text = {name: value.strip() for name, value in form.items() if value.strip()}
    given: dict[str, Any] = {name: text.get(name, "*") for name in ("method", "path", "account")}
    wanted = [f"{name}={text[name]}" for name in ("delay", "lost") if name in text]
    given |= {"prefer": ", ".join(wanted)} if wanted else {}
    given |= {"status": _whole("status", text["status"])} if "status" in text else {}
    given |= {name: text[name] for name in ("field", "condition") if name in text}
    given |= {"seconds": _number("seconds", text["seconds"])} if "seconds" in text else {}
    given |= {"every": _whole("every", text["every"])} if "every" in text else {}
    given |= {"headers": {"Retry-After": text["wait"]}} if "wait" in text else {}
    if "body" in text:
        given["body"] = _parsed(text["body"])
    elif "field" not in text and given.get("status", 0) >= LEAST_ERROR:
        given["body"] = {"errors": [{"title": "A test asked for this answer.", "status": given["status"]}]}
    if "times" in text:
        given["times"] = None if text["times"] == "*" else _whole("times", text["times"])
    return given


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"the body is not JSON: {error}") from error


def moment(text: str) -> datetime:
    """Read a time as the contract writes it, or as browsers do.

    Raises:
        SettingsError: if it is neither.
    """
    try:
        return datetime.fromisoformat(text.strip()).replace(tzinfo=None, microsecond=0)
    except ValueError as error:
        raise SettingsError(f'invalid time "{text}": expected something like 2026-03-02 09:00:00') from error


def _whole(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise SettingsError(f'{name} is "{text}"; expected a whole number') from error


def _number(name: str, text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise SettingsError(f'{name} is "{text}"; expected a number') from error


PAGE_SIZE = 25
LONG = ("description", "custom_css", "custom_js", "ads_header", "ads_footer")  # texts of several lines
FEW = 5  # sandboxes that are not folded
SWAGGER = Path(flask_swagger_ui.__file__).with_name("dist")
DONE = {
    "created": "Created.",
    "updated": "Saved.",
    "deleted": "Deleted.",
    "reset": "Everything is as it was at the start.",
    "kept": "The snapshot was kept.",
    "restored": "The snapshot was restored.",
    "forgotten": "The snapshot was deleted.",
    "switched": "Switched. All records were kept.",
    "forced": "The answer is forced.",
    "freed": "The forced answer was removed.",
    "again": "This account is as it was at the start.",
    "replayed": "The request was sent again; this is the new answer.",
    "cleared": "The journal is empty.",
    "set": "The clocks were set.",
}


def create_console(running: Instance) -> Blueprint:
    """The console's routes.

    Args:
        running: the mock that is shown.
    """
    console = Blueprint("console", __name__, template_folder="templates")
    console.add_app_template_filter(marked)
    console.context_processor(lambda: {"running": running, "done": DONE.get(request.args.get("done", ""))})
    _add_overview(console, running)
    _add_snapshots(console, running)
    _add_records(console, running)
    add_journal(console, running)
    _add_switches(console, running)

    @console.get("/_mock/console/contract")
    def contract() -> str:
        first = "" if running.settings.deployment else next(iter(running.service.accounts.keys))
        return render_template("contract.html", prefix=running.settings.base_path, key=first)

    @console.get("/_mock/swagger/<path:name>")
    def swagger(name: str) -> Response:
        return send_from_directory(SWAGGER, name)

    return console


def marked(text: str) -> Markup:
    """A text as HTML, with what stands between backticks as code."""
    parts, code = [escape(part) for part in text.split("`")], Markup("<code>{}</code>")
    return Markup("").join(code.format(part) if number % 2 else part for number, part in enumerate(parts))


def _add_overview(console: Blueprint, running: Instance) -> None:
    @console.get("/")
    def overview() -> str:
        latest = [each for each in running.journal.find() if not each.is_preflight][-5:][::-1]
        requests = {"latest": latest, "remarked": running.journal.most_remarked[:5]}
        if running.settings.deployment:
            return render_template(
                "in_front.html", base_url=running.service.base_url(), switched=_switched(running), **requests
            )
        service, sandboxes = running.service, running.service.accounts.sandboxes
        number = max(1, request.args.get("sandboxes", 1, int))
        shown = list(reversed(sandboxes))[(number - 1) * PAGE_SIZE : number * PAGE_SIZE]
        return render_template(
            "overview.html",
            base_url=service.base_url(),
            resources=service.contract.resources.values(),
            accounts={key: service.accounts.get(key) for key in service.accounts.keys},
            first=next(iter(service.accounts.keys)),
            sandboxes={key: sandboxes[key] for key in shown},
            page=number,
            pages=-(-len(sandboxes) // PAGE_SIZE),
            total=len(sandboxes),
            is_folded=len(sandboxes) > FEW and "sandboxes" not in request.args,
            switched=_switched(running),
            **requests,
        )

    @console.post("/_mock/console/reset")
    def reset() -> AnyResponse:
        running.reset()
        return _back("overview", "reset")


def _add_snapshots(console: Blueprint, running: Instance) -> None:
    @console.post("/_mock/console/snapshots")
    def keep() -> AnyResponse:
        running.keep(request.form.get("name", "").strip().replace("/", "-")[:60] or "snapshot")
        return _back("overview", "kept")

    @console.post("/_mock/console/snapshots/<name>/<action>")
    def use(name: str, action: str) -> AnyResponse:
        if name not in running.snapshots:
            abort(404, f'There is no snapshot "{name}" any more.')
        if action == "restore":
            running.restore(name)
            return _back("overview", "restored")
        if action != "forget":
            abort(404, f'A snapshot knows restore and forget, not "{action}".')
        running.snapshots.pop(name, None)
        return _back("overview", "forgotten")


def _add_records(console: Blueprint, running: Instance) -> None:
    """Add the pages of records; the account's key is a parameter, because browsers would resolve the dots in a path."""

    @console.get("/_mock/console/records/<resource>")
    def records(resource: str) -> str:
        key, account, chosen = *_account(running), _resource(running, resource)
        number = max(1, request.args.get("page", 1, int))
        start = (number - 1) * PAGE_SIZE
        shown, total = account.collections[resource].page(lambda _: (start, start + PAGE_SIZE))
        represented = [running.service.representations.record(chosen, record) for record in shown]
        place = {
            "key": key,
            "account": account,
            "resource": chosen,
            "resources": running.service.contract.resources.values(),
        }
        pages = max(1, -(-total // PAGE_SIZE))
        return render_template("records.html", records=represented, page=number, pages=pages, total=total, **place)

    @console.route("/_mock/console/records/<resource>/new", methods=["GET", "POST"])
    def new(resource: str) -> str | AnyResponse:
        return _edited(running, _resource(running, resource), None)

    @console.route("/_mock/console/records/<resource>/<int:identifier>", methods=["GET", "POST"])
    def record(resource: str, identifier: int) -> str | AnyResponse:
        return _edited(running, _resource(running, resource), identifier)

    @console.post("/_mock/console/records/<resource>/again")
    def again(resource: str) -> AnyResponse:
        key = _account(running)[0]
        running.reset_account(key)
        return redirect(url_for("console.records", account=key, resource=resource, done="again"), 303)

    @console.post("/_mock/console/records/<resource>/<int:identifier>/delete")
    def delete(resource: str, identifier: int) -> str | AnyResponse:
        key, chosen = _account(running)[0], _resource(running, resource)
        if problem := _delete_record(running, key, chosen, identifier):
            return _form(running, chosen, identifier, problem)
        return redirect(url_for("console.records", account=key, resource=resource, done="deleted"), 303)


def _edited(running: Instance, resource: Resource, identifier: int | None) -> str | AnyResponse:
    """The form of a record, or the result of sending it."""
    if request.method == "GET":
        return _form(running, resource, identifier, None)
    key, present = _account(running)[0], _values(running, resource, identifier)
    if problem := _save_record(running, key, resource, identifier, present):
        return _form(running, resource, identifier, problem)
    done = "created" if identifier is None else "updated"
    return redirect(url_for("console.records", account=key, resource=resource.name, done=done), 303)


def _form(running: Instance, resource: Resource, identifier: int | None, problem: Problem | None) -> str:
    key, account = _account(running)
    values = _values(running, resource, identifier)
    operation = "create" if identifier is None else "update"
    return render_template(
        "form.html",
        key=key,
        account=account,
        resource=resource,
        identifier=identifier,
        problem=problem,
        long=LONG,
        fields=[field for field in resource.fields.values() if operation in field.operations],
        values=values | (request.form.to_dict() if request.method == "POST" else {}),
        files={name: value for name, value in values.items() if isinstance(value, Upload)},
    )


def _values(running: Instance, resource: Resource, identifier: int | None) -> dict[str, Any]:
    if identifier is None:
        return {}
    try:
        return dict(_account(running)[1].collections[resource.name].get(identifier).values)
    except UnknownIdError:
        abort(404, f"There is no record {identifier} among the {resource.name} of this account.")


def _add_switches(console: Blueprint, running: Instance) -> None:
    @console.get("/_mock/console/switches")
    def switches() -> str:
        return _switches(running, "")

    @console.post("/_mock/console/switches")
    def switch() -> str | AnyResponse:
        try:
            running.change(**_settings_in(running, request.form))
        except SettingsError as error:
            return _switches(running, str(error))
        return _back("switches", "switched")

    @console.post("/_mock/console/forced")
    def force() -> str | AnyResponse:
        try:
            running.force(_effect_in(request.form))
        except SettingsError as error:
            return _switches(running, str(error))
        return _back("switches", "forced")

    @console.post("/_mock/console/forced/<int:number>/remove")
    def free(number: int) -> AnyResponse:
        running.effects.remove(number)
        return _back("switches", "freed")

    @console.post("/_mock/console/clock")
    def clock() -> str | AnyResponse:
        try:
            running.service.accounts.set_clocks(moment(request.form.get("now", "")))
        except SettingsError as error:
            return _switches(running, str(error))
        return _back("switches", "set")


def _switches(running: Instance, problem: str) -> str:
    areas: dict[str, list[Any]] = {}
    for each in DEFECTS.values():
        areas.setdefault(each.rule.partition(".")[0], []).append(each)
    return render_template(
        "switches.html",
        problem=problem,
        given=request.form,
        points=running.service.contract.open_points.values(),
        chosen=running.settings.choices,
        choices=running.service.choices,
        conditions={name: each for name, each in CONDITIONS.items() if each.travels or not running.settings.deployment},
        areas=areas,
    )


def _switched(running: Instance) -> dict[str, Any]:
    """The switches that differ from their defaults, for people."""
    state = told(running.settings)
    return {
        name: state[name]
        for name, switch in SWITCHES.items()
        if not switch.is_for_the_start and state[name] not in (None, {}, (), False)
    }


def _account(running: Instance) -> tuple[str, Account]:
    """The key that the request names, and its account."""
    key, accounts = request.args.get("account", ""), running.service.accounts
    account = accounts.sandboxes.get(key) or (accounts.get(key) if key in accounts.keys else None)
    if account is None:
        abort(404, f'No account has the key "{key}" any more.')
    return key, account


def _resource(running: Instance, name: str) -> Resource:
    found = running.service.contract.resources.get(name)
    if found is None:
        abort(404, f'There is no resource "{name}".')
    return found


def _back(page: str, done: str) -> AnyResponse:
    return redirect(url_for(f"console.{page}", done=done), 303)
