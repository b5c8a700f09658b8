"""An outcome with everything that reports must be able to tell; run as a program, it writes the golden reports anew."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from contract_tests.evidence.exchange import OWN_KEY, Exchange, FormValue, Request
from contract_tests.evidence.masking import Masking
from contract_tests.evidence.observation import Violation
from contract_tests.reports import html, results
from contract_tests.target.ledger_file import Entry
from contract_tests.verdicts.verdicts import Outcome, Result, Verdict
from link_management_contract import shipped_contract

CONTRACT = shipped_contract()
GOLDEN = Path(__file__).parent / "golden"
BEGAN = 1_790_000_000.0
KEY, TENANT, CANARY = "Kolibri-5f2c-key", "Zeisig-tenant", "Canary"
PAGE = b'{"data": [{"id": 7, "name": "Canary shop", "color": "red"}], "meta": {"page": 1}, "links": {}}'
HTML = f"<html><body><h1>502</h1><p>key {KEY}</p></body></html>".encode()
BINARY = bytes(range(256))


def without_line_numbers(text: str) -> str:
    """A report without the lines of `openapi.yaml` that it names, which move with each rule."""
    return re.sub('"startLine": [1-9][0-9]*', '"startLine": 1', text)


def exchange(number: int, operation: str, path: str, status: int | None, body: bytes = b"", **more: Any) -> Exchange:
    method = {"list": "GET", "read": "GET", "delete": "DELETE"}.get(operation, "POST")
    form: Mapping[str, FormValue] | None = more.get("form")
    request = Request(operation, "splash-pages", method, path, form=form, identifier=more.get("identifier"))
    headers = {"Content-Type": more.get("media_type", "application/json"), "Set-Cookie": "session=secret"}
    error = more.get("error", "")
    trace = f"4bf92f3577b34da6{number:016x}"
    told = headers if status else {}
    return Exchange(request, number, status, told, body, error, started_at=BEGAN + number, seconds=0.01, trace=trace)


FORM = {"name": 'ct1-1 <b>"&', "logo": ("logo.png", BINARY, "image/png")}
LISTED = exchange(1, "list", "/api/splash-pages/", 200, PAGE)
CREATED = exchange(2, "create", "/api/projects", 502, HTML, media_type="text/html", form=FORM)
READ = exchange(3, "read", "/api/splash-pages/9", 200, BINARY, media_type="image/png", identifier=9)
FIRST_TRY = exchange(5, "read", "/api/splash-pages/9", 503, HTML, media_type="text/html", identifier=9)
TIMED_OUT = exchange(4, "delete", "/api/splash-pages/9", None, error="Read timed out. (read timeout=30)", identifier=9)


def result(rule: str, verdict: Verdict, *findings: Violation, **more: Any) -> Result:
    return Result(CONTRACT.rules[rule], "splash-pages", verdict, findings=findings, **more)


def outcome() -> Outcome:
    results = (
        result("representations.color-is-hex", Verdict.FAIL, Violation(LISTED, "color: #rrggbb", "text 'aaa'")),
        result(
            "operations.create-answers", Verdict.FAIL, Violation(CREATED, "a success", "status 502 on each of 3 tries")
        ),
        result(
            "envelopes.body-is-json",
            Verdict.FAIL,
            Violation(READ, "a JSON body", "a body that is no JSON \x00\x1b[31m\x85\u202e"),
            waived="ticket 12 (until 2027-01-31)",
        ),
        result("operations.delete-answers", Verdict.FAIL, *[Violation(TIMED_OUT, "a success", "no answer")] * 7),
        result("robustness.odd-text-does-not-fail", Verdict.WARN, Violation(CREATED, "any answer", "status 502")),
        result("forms.name-required", Verdict.INCONCLUSIVE, reasons=("others wrote | meanwhile",)),
        result("accounts.other-account-sees-no-list", Verdict.NOT_APPLICABLE, reasons=("no second key",)),
        result("pagination.page-is-filled", Verdict.PASS, witnesses=3),
    )
    return Outcome(
        base_url="https://links.example.com/prefix",
        insecure=True,
        version="1.0.0",
        started_at=BEGAN,
        word="does not conform",
        status=1,
        strict=False,
        stale=("pagination.page-is-filled[splash-pages], until 2026-01-31: its time is over",),
        results=results,
        exchanges=(LISTED, CREATED, READ, TIMED_OUT),
        tries=(FIRST_TRY,),
        left=(Entry("splash-pages", ["ct1-1"], identifier=9, seen=True),),
        not_run=261,
        requests=12,
        created=1,
        seconds=1.5,
        masking=Masking.of({KEY: "[key]", TENANT: "[hidden]"}, [("splash-pages", OWN_KEY, 9)]),
    )


if __name__ == "__main__":
    html.write_folder(CONTRACT, outcome(), results.as_dict(outcome()), GOLDEN)
    sarif = GOLDEN / "results.sarif"
    sarif.write_text(without_line_numbers(sarif.read_text("utf-8")), "utf-8")
