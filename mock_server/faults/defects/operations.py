"""Operations that are refused, fail, or are moved elsewhere."""

from __future__ import annotations

from werkzeug.wrappers import Response

from mock_server.faults.call import Call, Serve, content
from mock_server.faults.defects.defect import N, S, Table, defect
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
    handlers = call.service.contract.resources[N]
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


# fmt: off
DEFECTS: Table = {
    "operations.list-answers": [
        defect("second-page-is-not-found", "Page 2 of a list is not found, whatever the total.",
               answers("list", 404, when=lambda call: call.query.get("page") == "2")),
        defect("list-without-a-page-is-refused", "A list without `page` is refused, where page 1 is the default.",
               answers("list", 400, when=lambda call: "page" not in call.query)),
        defect("largest-size-is-refused", "A page size of 1,000 is refused.",
               answers("list", 422, when=lambda call: call.query.get("results_per_page") == "1000")),
        defect("lists-fail", "Each list with a page size fails.",
               answers("list", 500, when=lambda call: "results_per_page" in call.query)),
    ],
    "operations.read-answers": [
        defect("reads-are-not-found", "No record is found by its id.", answers("read", 404)),
        defect("reads-fail", "Each read fails.", answers("read", 500)),
        defect("oldest-record-is-not-found", "The oldest record is listed, but not found by its id.",
               answers("read", 404, when=_oldest)),
    ],
    "operations.create-answers": [
        defect("creates-are-not-allowed", "A create is answered as a wrong method.", answers("create", 405)),
        defect("creates-are-invalid", "No form is good enough for a create.", answers("create", 422)),
        defect("creates-take-no-multipart", "A create in multipart form is answered as an unsupported media type.",
               answers("create", 415)),
        defect("create-is-done-and-called-invalid", "A create is carried out, and told that it was wrong.",
               tells("create", 400)),
        defect("creates-are-done-and-fail", "A create is carried out, and answered as a failure.",
               tells("create", 500)),
    ],
    "operations.update-answers": [
        defect("updates-are-not-allowed", "An update is answered as a wrong method.", answers("update", 405)),
        defect("updates-fail", "Each update fails.", answers("update", 500)),
        defect("updates-take-no-multipart", "An update in multipart form is answered as an unsupported media type.",
               answers("update", 415)),
        defect("update-is-done-and-called-invalid", "An update is carried out, and told that it was wrong.",
               tells("update", 400)),
    ],
    "operations.delete-answers": [
        defect("deletes-are-not-allowed", "A delete is answered as a wrong method.", answers("delete", 405)),
        defect("deletes-are-unknown", "No delete is implemented.", answers("delete", 501)),
        defect("deletes-fail", "Each delete fails.", answers("delete", 500)),
        defect("delete-is-done-and-not-found", "A delete is carried out, and told that there was no such record.",
               tells("delete", 404)),
        defect("deletes-are-done-and-fail", "A delete is carried out, and answered as a failure.",
               tells("delete", 500)),
    ],
    "operations.splash-pages-created-at-projects": [
        defect("projects-are-handlers", "A create at `/api/projects` makes a notification handler.",
               _makes_handlers, S),
        defect("projects-answer-other-ids",
               "A create at `/api/projects` answers ids that `/api/splash-pages` does not know.",
               on("create", lambda body: {"data": {"id": body["data"]["id"] + 7000}}), S),
    ],
    "operations.writes-not-redirected": [
        defect("creates-are-redirected", "A create is redirected to the path with a slash.",
               redirects("create", 301, lambda call: f"{_here(call)}/")),
        defect("updates-are-redirected", "An update is redirected to the path with a slash.",
               redirects("update", 307, lambda call: f"{_here(call)}/")),
        defect("deletes-are-redirected", "A delete is redirected to the path with a slash.",
               redirects("delete", 308, lambda call: f"{_here(call)}/")),
        defect("creates-redirect-to-the-record",
               "A create is carried out, and answered with a redirect, as web forms do.",
               tells("create", 303)),
    ],
    "operations.reads-redirected-within-host": [
        defect("redirect-loses-the-query", "A list with parameters is redirected to the path without them.",
               _loses_the_query, needs={"list-redirect": "no"}),
        defect("reads-are-redirected-to-another-host", "A read is redirected to another host.",
               redirects("read", 302, lambda call: f"{FAR}{call.resource.name}/{call.identifier}")),
        defect("lists-are-redirected-to-another-host", "A list of page 2 is redirected to another host.",
               redirects("list", 301, lambda call: f"{FAR}{call.resource.name}/",
                         lambda call: call.query.get("page") == "2"), needs={"list-redirect": "no"}),
    ],
}
# fmt: on
