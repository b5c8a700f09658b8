"""Keys that open another account, or do not open their own."""

from __future__ import annotations

from collections.abc import Callable

from werkzeug.wrappers import Response

from mock_server.faults.call import Call, Serve, Transformation, content, done
from mock_server.faults.defects.defect import D, Defect, N, S, Table, defect
from mock_server.faults.defects.means import Asked, answers, says


def _first_key(call: Call) -> str:
    return next(iter(call.service.accounts.keys))


def _let_in(operations: str, when: Asked) -> Transformation:
    """Treat some clients as the first account."""

    def transformation(call: Call, serve: Serve) -> Response:
        if call.operation in operations.split() and when(call):
            return serve(call.by(f"Bearer {_first_key(call)}"))
        return serve(call)

    return transformation


def _nobody(call: Call) -> bool:
    return not call.authorization


def _wrong(call: Call) -> bool:
    """Whether the call carries a key that belongs to no account."""
    return bool(call.authorization) and call.account is None


def _with(match: Callable[[str, str], bool]) -> Asked:
    """Whether an unknown key, sent as a bearer token, matches the first account's key in some way."""

    def when(call: Call) -> bool:
        scheme, _, sent = call.authorization.partition(" ")
        return scheme == "Bearer" and call.account is None and match(sent.strip(), _first_key(call))

    return when


def _other(call: Call) -> bool:
    """Whether the call carries the key of an account other than the first."""
    return call.account is not None and call.account is not call.service.accounts.get(_first_key(call))


def _is_prefix(sent: str, key: str) -> bool:
    return bool(sent) and sent != key and key.startswith(sent)


def _is_longer(sent: str, key: str) -> bool:
    return sent != key and sent.startswith(key)


def _another_scheme(call: Call) -> bool:
    return call.authorization.startswith("Basic")


def _token(call: Call) -> bool:
    return call.authorization == f"Token {_first_key(call)}"


def _parameter(call: Call) -> bool:
    return call.authorization == f'Bearer token="{_first_key(call)}"'


def _in_a_cookie(call: Call) -> bool:
    return not call.authorization and f"token={_first_key(call)}" in call.environ.get("HTTP_COOKIE", "")


def _in_the_query(call: Call) -> bool:
    return not call.authorization and call.query.get("api_key") == _first_key(call)


def _mixed_lists(call: Call, serve: Serve) -> Response:
    """Begin another account's lists with a record of the first account."""
    answer = serve(call)
    if call.operation != "list" or not _other(call) or not done(call, answer):
        return answer
    rows = content(serve(call.by(f"Bearer {_first_key(call)}")))["data"]
    body = content(answer)
    body["data"] = sorted(rows, key=lambda row: row["id"])[-1:] + body["data"]
    return says(call, answer, body)


def _refuses_and_does(operations: str, status: int, when: Asked) -> Transformation:
    """Refuse an unauthorized call, and carry it out all the same."""
    inner = _let_in(operations, when)

    def transformation(call: Call, serve: Serve) -> Response:
        answer = inner(call, serve)
        if call.operation in operations.split() and when(call):
            return Response(b"{}", status, content_type="application/json")
        return answer

    return transformation


def _forbids_and_shows(call: Call, serve: Serve) -> Response:
    """Refuse another account's read by status only, and show the record in the body."""
    answer = _let_in("read", _other)(call, serve)
    if call.operation == "read" and _other(call):
        answer.status_code = 403
    return answer


def _strangers(operation: str, verb: str, what: str) -> list[Callable[[str], Defect]]:
    """The defects of a server that lets clients in without looking closely at their keys."""
    return [
        defect(f"nobody-{verb}", f"Who sends no key {what}.", _let_in(operation, _nobody)),
        defect(f"wrong-key-{verb}", f"Who sends any key {what}.", _let_in(operation, _wrong)),
        defect(
            f"shorter-key-{verb}",
            f"Who sends the beginning of the key {what}.",
            _let_in(operation, _with(_is_prefix)),
        ),
    ]


# fmt: off
DEFECTS: Table = {
    "accounts.bearer-key-is-accepted": [
        defect("key-is-not-understood", "The account's key opens no splash page.",
               answers("list create read update delete", 401), S),
        defect("key-is-forbidden", "The account's key may read no handler.", answers("list read", 403), N),
    ],
    "accounts.strangers-see-no-list": [
        *_strangers("list", "lists", "can list the account's records"),
        defect("another-scheme-lists", "Who sends the key under another scheme can list the account's records.",
               _let_in("list", _another_scheme), S),
        defect("token-scheme-lists", "Who sends the key under the scheme Token can list the account's records.",
               _let_in("list", _token)),
        defect("key-in-the-query-lists", "Who sends the key in the query can list the account's records.",
               _let_in("list", _in_the_query)),
    ],
    "accounts.strangers-read-no-record": [
        *_strangers("read", "reads", "can read the account's records"),
        defect("longer-key-reads", "Who sends the key and more can read the account's records.",
               _let_in("read", _with(_is_longer)), D),
        defect("key-in-capitals-reads", "Who sends the key in capital letters can read the account's records.",
               _let_in("read", _with(lambda sent, key: sent != key and sent.lower() == key.lower())), N),
        defect("key-in-a-cookie-reads", "Who sends the key in a cookie can read the account's records.",
               _let_in("read", _in_a_cookie), D),
        defect("key-as-a-parameter-reads", "Who sends the key as a parameter of Bearer can read the records.",
               _let_in("read", _parameter), N),
    ],
    "accounts.strangers-create-nothing": [
        *_strangers("create", "creates", "can make records in the account"),
        defect("nobody-is-refused-and-creates", "Who sends no key is refused, and makes a record all the same.",
               _refuses_and_does("create", 401, _nobody)),
    ],
    "accounts.strangers-update-nothing": [
        *_strangers("update", "updates", "can change the account's records"),
        defect("nobody-is-refused-and-updates", "Who sends no key is refused, and changes the record all the same.",
               _refuses_and_does("update", 401, _nobody)),
    ],
    "accounts.strangers-delete-nothing": [
        *_strangers("delete", "deletes", "can remove the account's records"),
        defect("nobody-is-refused-and-deletes", "Who sends no key is refused, and removes the record all the same.",
               _refuses_and_does("delete", 401, _nobody)),
    ],
    "accounts.other-account-sees-no-list": [
        defect("other-account-lists", "Another account's lists show this account's records.", _let_in("list", _other)),
        defect("other-account-lists-one", "Another account's lists begin with this account's newest record.",
               _mixed_lists),
    ],
    "accounts.other-account-reads-nothing": [
        defect("other-account-reads", "Another account can read this account's records.", _let_in("read", _other)),
        defect("other-account-is-forbidden-and-shown",
               "Another account's read is refused, and shows the record in its body.",
               _forbids_and_shows),
    ],
    "accounts.other-account-creates-apart": [
        defect("other-account-creates", "Another account's create makes a record in this account.",
               _let_in("create", _other)),
    ],
    "accounts.other-account-updates-nothing": [
        defect("other-account-updates", "Another account can change this account's records.",
               _let_in("update", _other)),
        defect("other-account-is-refused-and-updates",
               "Another account's update is refused, and changes the record all the same.",
               _refuses_and_does("update", 404, _other)),
    ],
    "accounts.other-account-deletes-nothing": [
        defect("other-account-deletes", "Another account can remove this account's records.",
               _let_in("delete", _other)),
        defect("other-account-is-refused-and-deletes",
               "Another account's delete is refused, and removes the record all the same.",
               _refuses_and_does("delete", 404, _other)),
    ],
}
# fmt: on
