"""Odd input that makes the server fail."""

from __future__ import annotations

from werkzeug.wrappers import Response

from mock_server.faults.call import Call, Serve, Transformation
from mock_server.faults.defects.defect import Table, defect
from mock_server.faults.defects.means import Asked, answers

LONG = 200


def _fails(operations: str, when: Asked) -> Transformation:
    return answers(operations, 500, b"<h1>Internal Server Error</h1>", when)


def _odd_page(call: Call) -> bool:
    page = call.query.get("page", "1")
    return not page.isdecimal() or int(page) == 0


def _odd_size(call: Call) -> bool:
    size = call.query.get("results_per_page", "10")
    return size not in map(str, call.service.contract.page_sizes)


def _empty_form(call: Call) -> bool:
    return call.environ["REQUEST_METHOD"] == "POST" and not call.parts


def _unknown_id_fails(call: Call, serve: Serve) -> Response:
    if call.operation == "read" and call.account and call.record is None:
        return Response(b"<h1>Internal Server Error</h1>", 500)
    return serve(call)


# fmt: off
DEFECTS: Table = {
    "robustness.odd-pages-do-not-fail": [
        defect("odd-page-fails", "A page that is no number, or not above 0, makes a list fail.",
               _fails("list", _odd_page)),
        defect("odd-size-fails", "A page size that is not allowed makes a list fail.", _fails("list", _odd_size)),
    ],
    "robustness.odd-ids-do-not-fail": [
        defect("unknown-id-fails", "A read of an id that no record has fails.", _unknown_id_fails),
    ],
    "robustness.odd-text-does-not-fail": [
        defect("markup-fails", "A create with markup in a text fails.",
               _fails("create", lambda call: any("<b>" in text for text in call.form.values()))),
        defect("long-text-fails", "A create with a text of over 200 characters fails.",
               _fails("create", lambda call: any(len(text) > LONG for text in call.form.values()))),
    ],
    "robustness.odd-forms-do-not-fail": [
        defect("update-without-a-body-fails", "An update without a body fails.",
               _fails("update", lambda call: not call.body)),
        defect("malformed-form-fails", "A create whose form is empty or cut off fails.", _fails("create", _empty_form)),
    ],
}
# fmt: on
