"""Operations that are refused, fail, or are moved elsewhere."""

from __future__ import annotations

from werkzeug.wrappers import Response

from mock_server.faults.call import Call, Serve, content
from mock_server.faults.defects.defect import Defect, N, S
from mock_server.faults.defects.means import answers, on, redirects, tells

FAR = "https://elsewhere.example.com/api/"


def _here(call: Call) -> str:
    return str(call.environ["PATH_INFO"])


def _oldest(call: Call) -> bool:
    return call.record is not None and call.record.id == min(record.id for record in call.records)


def _makes_handlers(call: Call, serve: Serve) -> Response:
    if call.operation != "create" or call.account is None:
        return serve(call)
    form = {"name": call.form.get("name", ""), "type": "slack"}
    handlers = next(each for each in call.service.contract.resources if each.name == N)
    answer = serve(call.at("create", resource=handlers).sending(form))
    body = content(answer)
    if body and body.get("data"):
        body["data"]["id"] += 5000
        return call.service.representations.json(body, answer.status_code)
    return answer


def _loses_the_query(call: Call, serve: Serve) -> Response:
    if call.operation == "list" and call.account and call.query:
        return Response(status=301, headers={"Location": _here(call)})
    return serve(call)


DEFECTS = (
    Defect(
        "second-page-is-not-found",
        "operations.list-answers",
        "Page 2 of a list is not found, whatever the total.",
        answers("list", 404, when=lambda call: call.query.get("page") == "2"),
    ),
    Defect(
        "list-without-a-page-is-refused",
        "operations.list-answers",
        "A list without `page` is refused, where page 1 is the default.",
        answers("list", 400, when=lambda call: "page" not in call.query),
    ),
    Defect(
        "largest-size-is-refused",
        "operations.list-answers",
        "A page size of 1,000 is refused.",
        answers("list", 422, when=lambda call: call.query.get("results_per_page") == "1000"),
    ),
    Defect(
        "lists-fail",
        "operations.list-answers",
        "Each list with a page size fails.",
        answers("list", 500, when=lambda call: "results_per_page" in call.query),
    ),
    Defect("reads-are-not-found", "operations.read-answers", "No record is found by its id.", answers("read", 404)),
    Defect("reads-fail", "operations.read-answers", "Each read fails.", answers("read", 500)),
    Defect(
        "oldest-record-is-not-found",
        "operations.read-answers",
        "The oldest record is listed, but not found by its id.",
        answers("read", 404, when=_oldest),
    ),
    Defect(
        "creates-are-not-allowed",
        "operations.create-answers",
        "A create is answered as a wrong method.",
        answers("create", 405),
    ),
    Defect(
        "creates-are-invalid",
        "operations.create-answers",
        "No form is good enough for a create.",
        answers("create", 422),
    ),
    Defect(
        "creates-take-no-multipart",
        "operations.create-answers",
        "A create in multipart form is answered as an unsupported media type.",
        answers("create", 415),
    ),
    Defect(
        "create-is-done-and-called-invalid",
        "operations.create-answers",
        "A create is carried out, and told that it was wrong.",
        tells("create", 400),
    ),
    Defect(
        "updates-are-not-allowed",
        "operations.update-answers",
        "An update is answered as a wrong method.",
        answers("update", 405),
    ),
    Defect("updates-fail", "operations.update-answers", "Each update fails.", answers("update", 500)),
    Defect(
        "updates-take-no-multipart",
        "operations.update-answers",
        "An update in multipart form is answered as an unsupported media type.",
        answers("update", 415),
    ),
    Defect(
        "update-is-done-and-called-invalid",
        "operations.update-answers",
        "An update is carried out, and told that it was wrong.",
        tells("update", 400),
    ),
    Defect(
        "deletes-are-not-allowed",
        "operations.delete-answers",
        "A delete is answered as a wrong method.",
        answers("delete", 405),
    ),
    Defect("deletes-are-unknown", "operations.delete-answers", "No delete is implemented.", answers("delete", 501)),
    Defect("deletes-fail", "operations.delete-answers", "Each delete fails.", answers("delete", 500)),
    Defect(
        "delete-is-done-and-not-found",
        "operations.delete-answers",
        "A delete is carried out, and told that there was no such record.",
        tells("delete", 404),
    ),
    Defect(
        "creates-are-done-and-fail",
        "operations.create-answers",
        "A create is carried out, and answered as a failure.",
        tells("create", 500),
    ),
    Defect(
        "deletes-are-done-and-fail",
        "operations.delete-answers",
        "A delete is carried out, and answered as a failure.",
        tells("delete", 500),
    ),
    Defect(
        "projects-are-handlers",
        "operations.splash-pages-created-at-projects",
        "A create at `/api/projects` makes a notification handler.",
        _makes_handlers,
        (S,),
    ),
    Defect(
        "projects-answer-other-ids",
        "operations.splash-pages-created-at-projects",
        "A create at `/api/projects` answers ids that `/api/splash-pages` does not know.",
        on("create", lambda body: {"data": {"id": body["data"]["id"] + 7000}}),
        (S,),
    ),
    Defect(
        "creates-are-redirected",
        "operations.writes-not-redirected",
        "A create is redirected to the path with a slash.",
        redirects("create", 301, lambda call: f"{_here(call)}/"),
    ),
    Defect(
        "updates-are-redirected",
        "operations.writes-not-redirected",
        "An update is redirected to the path with a slash.",
        redirects("update", 307, lambda call: f"{_here(call)}/"),
    ),
    Defect(
        "deletes-are-redirected",
        "operations.writes-not-redirected",
        "A delete is redirected to the path with a slash.",
        redirects("delete", 308, lambda call: f"{_here(call)}/"),
    ),
    Defect(
        "creates-redirect-to-the-record",
        "operations.writes-not-redirected",
        "A create is carried out, and answered with a redirect, as web forms do.",
        tells("create", 303),
    ),
    Defect(
        "redirect-loses-the-query",
        "operations.reads-redirected-within-host",
        "A list with parameters is redirected to the path without them.",
        _loses_the_query,
        needs={"list-redirect": "no"},
    ),
    Defect(
        "reads-are-redirected-to-another-host",
        "operations.reads-redirected-within-host",
        "A read is redirected to another host.",
        redirects("read", 302, lambda call: f"{FAR}{call.kind}/{call.identifier}"),
    ),
    Defect(
        "lists-are-redirected-to-another-host",
        "operations.reads-redirected-within-host",
        "A list of page 2 is redirected to another host.",
        redirects("list", 301, lambda call: f"{FAR}{call.kind}/", lambda call: call.query.get("page") == "2"),
        needs={"list-redirect": "no"},
    ),
)
