"""The table of defects: each breaks one rule of the contract in one named way, in front of the honest server."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from html import escape
from urllib.parse import unquote

from werkzeug.wrappers import Response

from link_management_contract import Rule, shipped_contract
from mock_server.defects import custom
from mock_server.defects.building_blocks import (
    TYPES,
    Call,
    D,
    N,
    S,
    Serve,
    Transformation,
    adds_another,
    answers_as,
    bytes_of,
    changes,
    changes_a_neighbour,
    drops,
    form,
    gives,
    has,
    has_known_key,
    ignores,
    is_email,
    is_empty,
    is_full,
    is_page,
    json_by_call,
    json_of,
    link,
    links,
    loses,
    meta,
    never_updated,
    page_url,
    record,
    redirects,
    refuses,
    remembering,
    removes_a_neighbour,
    renamed,
    replaces,
    same_label,
    sets,
    skips,
    then_do,
    toggled,
    touches,
    turns,
    was_updated,
)
from mock_server.errors import SettingsError

MAX_DEFECTS = 50
RULES = shipped_contract().rules


@dataclass(frozen=True)
class Defect:
    """A named way of breaking one rule.

    Attributes:
        name: what is wrong, in a few words.
        rule: the id of the rule that it breaks.
        description: what is wrong, in a sentence.
        transformation: what changes calls or answers in front of the honest server.
        resources: the resources that it affects; if empty, all that the rule covers.
        needs: the values of open points without which it does not show.
    """

    name: str
    rule: str
    description: str
    transformation: Transformation
    resources: tuple[str, ...] = ()
    needs: Mapping[str, str] = field(default_factory=dict)

    @property
    def implied_rules(self) -> frozenset[str]:
        """Further rules that a server with this defect may break as well."""
        return frozenset(RULES[self.rule].implies)

    def __call__(self, call: Call, serve: Serve) -> Response:
        if self.resources and call.resource.name not in self.resources:
            return serve(call)
        return self.transformation(call, serve)


Table = Mapping[str, Sequence[Callable[[str], Defect]]]  # the defects of each rule, by the rule's id


def defect(
    name: str, description: str, transformation: Transformation, *resources: str, needs: Mapping[str, str] | None = None
) -> Callable[[str], Defect]:
    """A row of a table: a defect of the rule that it is listed under.

    Args:
        name: what is wrong, in a few words; permanent.
        description: what is wrong, in a sentence.
        transformation: what changes calls or answers in front of the honest server.
        resources: as for `Defect`.
        needs: as for `Defect`.
    """
    return lambda rule: Defect(name, rule, description, transformation, resources, needs or {})


def makes_up(noun: str, field: str, resource: str) -> Callable[[str], Defect]:
    """A create without a required field makes a record all the same."""
    return defect(
        f"{noun}-without-{field}-is-made",
        f"A create without `{field}` makes a record, with one that is made up.",
        custom.filled_in(field),
        resource,
    )


def takes_no(operation: str, status: int, fields: str, resource: str) -> Iterator[Callable[[str], Defect]]:
    """One defect for each optional field, which is refused with a status."""
    article = "An" if operation == "update" else "A"
    for name in fields.split():
        yield defect(
            f"{operation}-takes-no-{name.replace('_', '-')}",
            f"{article} {operation} with `{name}` is refused.",
            refuses(operation, status, applies=gives(name)),
            resource,
        )


def strangers_may(operation: str, text: str) -> Iterator[Callable[[str], Defect]]:
    """Who has no key, a wrong one or its beginning may do what the text says."""
    for name, key, is_sender in (
        ("nobody", "no key", custom.has_no_key),
        ("wrong-key", "any key", custom.has_wrong_key),
        ("shorter-key", "the beginning of the key", custom.key_that(custom.is_prefix)),
    ):
        yield defect(f"{name}-{operation}s", f"Who sends {key} can {text}.", custom.let_in(operation, is_sender))


RESOURCES, CONSECUTIVE = (S, D, N), {"ids": "consecutive"}

# fmt: off
TABLE: Table = {
    "operations.list-answers": [
        defect("second-page-is-not-found", "Page 2 of a list is not found, whatever the total.",
               refuses("list", 404, applies=lambda call: call.query.get("page") == "2")),
        defect("list-without-a-page-is-refused", "A list without `page` is refused, where page 1 is the default.",
               refuses("list", 400, applies=lambda call: "page" not in call.query)),
        defect("largest-size-is-refused", "A page size of 1,000 is refused.",
               refuses("list", 422, applies=lambda call: call.query.get("results_per_page") == "1000")),
        defect("lists-fail", "Each list with a page size fails.",
               refuses("list", 500, applies=lambda call: "results_per_page" in call.query))],
    "operations.read-answers": [
        defect("reads-are-not-found", "No record is found by its id.", refuses("read", 404)),
        defect("reads-fail", "Each read fails.", refuses("read", 500)),
        defect("oldest-record-is-not-found", "The oldest record is listed, but not found by its id.",
               refuses("read", 404, applies=custom.is_oldest))],
    "operations.read-shows-its-resource": [
        defect("reads-go-by-the-id-alone", "A read shows the record of another resource that has the id.",
               custom.reads_same_ids(*RESOURCES)),
        defect("domain-reads-show-handlers", "A read of a domain shows the handler that has the id.",
               custom.reads_same_ids(N), D),
        defect("handler-reads-show-splash-pages", "A read of a handler shows the splash page that has the id.",
               custom.reads_same_ids(S), N)],
    "operations.create-answers": [
        defect("creates-are-not-allowed", "A create is answered as a wrong method.", refuses("create", 405)),
        defect("creates-are-invalid", "No form is good enough for a create.", refuses("create", 422)),
        defect("creates-take-no-multipart", "A create in multipart form is answered as an unsupported media type.",
               refuses("create", 415)),
        defect("create-is-done-and-called-invalid", "A create is carried out, and told that it was wrong.",
               answers_as("create", 400)),
        defect("creates-are-done-and-fail", "A create is carried out, and answered as a failure.",
               answers_as("create", 500))],
    "operations.update-answers": [
        defect("updates-are-not-allowed", "An update is answered as a wrong method.", refuses("update", 405)),
        defect("updates-fail", "Each update fails.", refuses("update", 500)),
        defect("updates-take-no-multipart", "An update in multipart form is answered as an unsupported media type.",
               refuses("update", 415)),
        defect("update-is-done-and-called-invalid", "An update is carried out, and told that it was wrong.",
               answers_as("update", 400))],
    "operations.delete-answers": [
        defect("deletes-are-not-allowed", "A delete is answered as a wrong method.", refuses("delete", 405)),
        defect("deletes-are-unknown", "No delete is implemented.", refuses("delete", 501)),
        defect("deletes-fail", "Each delete fails.", refuses("delete", 500)),
        defect("delete-is-done-and-not-found", "A delete is carried out, and told that there was no such record.",
               answers_as("delete", 404)),
        defect("deletes-are-done-and-fail", "A delete is carried out, and answered as a failure.",
               answers_as("delete", 500))],
    "operations.splash-pages-created-at-projects": [
        defect("projects-are-handlers", "A create at `/api/projects` makes a notification handler.",
               custom.makes_handlers, S),
        defect("projects-answer-other-ids",
               "A create at `/api/projects` answers ids that `/api/splash-pages` does not know.",
               json_of("create", lambda body: {"data": {"id": body["data"]["id"] + 7000}}), S)],
    "operations.writes-not-redirected": [
        defect("creates-are-redirected", "A create is redirected to the path with a slash.",
               redirects("create", 301, lambda call: f"{custom.path_of(call)}/")),
        defect("updates-are-redirected", "An update is redirected to the path with a slash.",
               redirects("update", 307, lambda call: f"{custom.path_of(call)}/")),
        defect("deletes-are-redirected", "A delete is redirected to the path with a slash.",
               redirects("delete", 308, lambda call: f"{custom.path_of(call)}/")),
        defect("creates-redirect-to-the-record",
               "A create is carried out, and answered with a redirect, as web forms do.", answers_as("create", 303))],
    "operations.reads-redirected-within-host": [
        defect("redirect-loses-the-query", "A list with parameters is redirected to the path without them.",
               custom.loses_the_query, needs={"list-redirect": "no"}),
        defect("reads-are-redirected-to-another-host", "A read is redirected to another host.",
               redirects("read", 302, lambda call: f"{custom.OTHER_SITE_URL}{call.resource.name}/{call.identifier}")),
        defect("lists-are-redirected-to-another-host", "A list of page 2 is redirected to another host.",
               redirects("list", 301, lambda call: f"{custom.OTHER_SITE_URL}{call.resource.name}/",
                         lambda call: call.query.get("page") == "2"), needs={"list-redirect": "no"})],
    "pagination.page-is-filled": [
        defect("far-page-shows-the-first", "A page beyond 2,000,000,000 shows the records of page 1.",
               json_by_call("list", custom.shows_the_first, custom.is_far), needs={"page-past-the-end": "empty"}),
        defect("small-pages-lack-new-records", "Pages of ten lack records that were created.",
               json_by_call("create list", custom.lacks_new_records, has_known_key)),
        defect("pages-lose-their-last-record", "Each page shows one record too few.",
               custom.shows_rows(lambda rows: rows[:-1], lambda _: True)),
        defect("full-pages-lose-a-record", "A full page shows one record too few.",
               custom.shows_rows(lambda rows: rows[:-1], is_full)),
        defect("last-page-is-empty", "The last of several pages is empty.",
               custom.shows_rows(lambda _: [], lambda body: custom.is_last_page(body) and body["meta"]["page"] > 1)),
        defect("third-page-loses-a-record", "Page 3 shows one record too few.",
               custom.shows_rows(lambda rows: rows[1:], is_page(3))),
        defect("first-page-shows-one-more", "Page 1 of several shows its last record twice.",
               custom.shows_rows(lambda rows: [*rows, rows[-1]],
                                  lambda body: body["meta"]["page"] == 1 and body["meta"]["total_pages"] > 1))],
    "pagination.pages-partition-the-collection": [
        defect("small-pages-repeat-the-newest-record", "Full pages of ten end with the record that was created last.",
               json_by_call("create list", custom.new_records_last, has_known_key)),
        defect("second-page-is-the-first", "Page 2 shows the records of page 1.",
               replaces("list", lambda call: call.asking(page="1"), lambda call: call.query.get("page") == "2")),
        defect("pages-overlap", "Each page begins with the last record of the one before.", custom.repeats),
        defect("record-is-listed-twice", "Page 2 shows its last record first too, instead of its first.",
               custom.shows_rows(lambda rows: [rows[-1], *rows[1:]], is_page(2)))],
    "pagination.page-defaults-to-1": [
        defect("no-page-is-the-second", "A list without `page` shows page 2.",
               replaces("list", lambda call: call.asking(page="2"), lambda call: "page" not in call.query)),
        defect("no-page-is-the-last", "A list without `page` shows the last page.",
               replaces("list", lambda call: call.asking(page=str(max(1, -(-len(call.records) // 25)))),
                    lambda call: call.account is not None and not call.query))],
    "pagination.size-defaults-to-25": [
        *(defect(f"default-size-is-{size}", f"A list without `results_per_page` has {size} a page.",
                 custom.uses_size(size, custom.asks_for_no_size)) for size in ("10", "50", "100")),
        defect("default-size-is-said-wrongly",
               "A list without `results_per_page` says that a page holds 10, and shows 25.",
               meta("results_per_page", lambda _: 10, custom.asks_for_no_size))],
    "pagination.allowed-sizes-are-kept": [
        defect(f"size-{size}-is-{used_size}", f"A list of {size} a page has {used_size}.",
               custom.uses_size(used_size, custom.asks_for_size(size)))
        for size, used_size in (
            ("10", "25"), ("50", "25"), ("100", "50"), ("250", "100"), ("500", "100"), ("1000", "500"))],
    "pagination.other-sizes-are-not-used": [
        defect("any-size-is-used", "A list has any page size that is asked for.", custom.any_size(10**9)),
        defect("any-size-below-the-largest-is-used", "A list has any page size up to 1,000 that is asked for.",
               custom.any_size(1000)),
        defect("small-sizes-are-used", "A list has any page size below 10 that is asked for.", custom.any_size(9))],
    "pagination.meta-page-is-the-page-asked-for": [
        defect("meta-page-is-always-1", "`meta.page` is 1 on every page.", meta("page", lambda _: 1)),
        defect("meta-page-counts-from-0", "`meta.page` is 0 on page 1.", meta("page", lambda m: m["page"] - 1)),
        defect("meta-page-is-the-last", "`meta.page` says how many pages there are.",
               meta("page", lambda m: m["total_pages"]))],
    "pagination.order-is-the-same-again": [
        defect("order-turns", "The same page begins with another record each time.", remembering(custom.rotate_rows)),
        defect("order-is-reversed-every-other-time", "Every other list is in the opposite order.",
               remembering(custom.reverse_every_second))],
    "pagination.total-pages-is-the-ceiling": [
        defect("total-pages-is-rounded-down", "`total_pages` is rounded down.",
               meta("total_pages", lambda m: m["total"] // m["results_per_page"])),
        defect("total-pages-is-one-more-on-exact-multiples",
               "`total_pages` is one too high where the last page is full.",
               meta("total_pages", lambda m: m["total"] // m["results_per_page"] + 1)),
        defect("total-pages-goes-by-the-default-size", "`total_pages` counts pages of 25, whatever the size.",
               meta("total_pages", lambda m: max(1, -(-m["total"] // 25)))),
        defect("total-pages-is-1", "`total_pages` is always 1.", meta("total_pages", lambda _: 1))],
    "pagination.total-counts-the-records": [
        defect("total-is-one-more", "`total` is one too high.", meta("total", lambda m: m["total"] + 1)),
        defect("total-is-one-less", "`total` is one too low.", meta("total", lambda m: max(0, m["total"] - 1))),
        defect("total-counts-the-page", "`total` counts the records of the page.",
               json_of("list", lambda body: body["meta"].__setitem__("total", len(body["data"])))),
        defect("total-stops-at-the-size", "`total` is never above the page size.",
               meta("total", lambda m: min(m["total"], m["results_per_page"]))),
        defect("total-counts-all-accounts", "`total` counts other accounts' records too.",
               json_by_call("list", custom.counts_everybody, has_known_key)),
        defect("total-differs-on-later-pages", "From page 2 on, `total` counts only the records from there.",
               meta("total", lambda m: m["total"] - (m["page"] - 1) * m["results_per_page"]))],
    "pagination.total-follows-creates": [
        defect("create-makes-two", "A create makes two records.", then_do("create", adds_another)),
        defect("total-is-what-it-first-was", "`total` is kept for good when it was first counted.",
               remembering(custom.as_it_was)),
        defect("total-never-grows", "`total` goes down, but never up.", remembering(custom.only_shrinks))],
    "pagination.total-follows-deletes": [
        defect("deleted-records-are-counted", "`total` goes up, but never down.", remembering(custom.only_grows))],
    "pagination.links-have-the-stated-path": [
        defect("links-have-a-slash", "Links have a slash behind the collection.",
               links(lambda url: url.replace("?", "/?"))),
        defect("links-have-a-version", "Links have a version in their path.",
               links(lambda url: url.replace("/api/", "/api/v1/"))),
        defect("links-have-two-slashes", "Links have two slashes before `api`.",
               links(lambda url: url.replace("/api/", "//api/"))),
        defect("links-lack-api", "Links lack `/api`.", links(lambda url: url.replace("/api/", "/")))],
    "pagination.links-name-the-collection": [
        defect(f"links-name-{name}", f"Links name the collection `{name}`.", links(custom.link_to(name)), resource)
        for name, resource in (("splash-pages", S), ("custom-domains", D), ("handlers", N))],
    "pagination.links-hold-page-alone": [
        defect("links-hold-the-size", "Links hold the page size too.", links(lambda url: f"{url}&results_per_page=10")),
        defect("links-call-the-page-p", "Links call the page's number `p`.",
               links(lambda url: url.replace("page=", "p="))),
        defect("links-hold-a-token", "Links hold a token too.", links(lambda url: f"{url}&token=4f3c"))],
    "pagination.links-begin-with-the-base-url": [
        defect("links-have-another-scheme", "Links begin with another scheme.",
               links(lambda url: url.replace("http://", "https://", 1))),
        defect("links-are-relative", "Links lack scheme and host.",
               links(lambda url: url[url.index("/", len("https://")) :])),
        defect("links-name-the-machine-behind", "Links name the machine behind the proxy.",
               links(lambda url: f"http://backend-2:8080{url[url.index('/', len('https://')) :]}"))],
    "pagination.first-names-page-1": [
        defect("first-is-this-page", "`first` names the page that is shown.",
               link("first", lambda body: body["links"]["self"])),
        defect("first-is-page-0", "`first` names page 0.", link("first", lambda body: page_url(body, 0)))],
    "pagination.last-names-the-last-page": [
        defect("last-is-the-first", "`last` names page 1.", link("last", lambda body: body["links"]["first"])),
        defect("last-is-the-total", "`last` names the page whose number is the total.",
               link("last", lambda body: page_url(body, body["meta"]["total"]))),
        defect("last-is-one-more", "`last` names the page after the last.",
               link("last", lambda body: page_url(body, body["meta"]["total_pages"] + 1))),
        defect("last-goes-by-the-default-size", "`last` names the last page of 25, whatever the size.",
               link("last", lambda body: page_url(body, max(1, -(-body["meta"]["total"] // 25)))))],
    "pagination.self-names-this-page": [
        defect("self-is-the-first", "`self` names page 1.", link("self", lambda body: body["links"]["first"])),
        defect("self-is-the-next", "`self` names the page after this one.",
               link("self", lambda body: page_url(body, body["meta"]["page"] + 1)))],
    "pagination.next-names-the-next-page": [
        defect("next-is-the-last", "`next` names the last page.",
               link("next", lambda body: body["links"]["next"] and body["links"]["last"])),
        defect("next-is-null", "`next` is null on every page.", link("next", lambda _: None)),
        defect("next-is-this-page", "`next` names the page that is shown.",
               link("next", lambda body: body["links"]["next"] and body["links"]["self"])),
        defect("next-is-null-before-the-last-page", "`next` is null on the last page but one.",
               link("next", lambda _: None, lambda body: body["meta"]["page"] == body["meta"]["total_pages"] - 1))],
    "pagination.next-is-null-on-last-page": [
        defect("next-of-the-last-is-the-last", "On the last page, `next` names it again.",
               link("next", lambda body: body["links"]["next"] or body["links"]["last"])),
        defect("next-of-the-last-is-empty", "On the last page, `next` is an empty text.",
               link("next", lambda body: body["links"]["next"] or "")),
        defect("next-after-a-full-last-page", "On a last page that is full, `next` names a page after it.",
               link("next", lambda body: page_url(body, body["meta"]["page"] + 1),
                    lambda body: not body["links"]["next"] and is_full(body)))],
    "pagination.prev-names-the-previous-page": [
        defect("prev-is-the-first", "`prev` names page 1.",
               link("prev", lambda body: body["links"]["prev"] and body["links"]["first"])),
        defect("prev-is-null", "`prev` is null on every page.", link("prev", lambda _: None)),
        defect("prev-is-null-on-page-2", "`prev` is null on page 2.", link("prev", lambda _: None, is_page(2)))],
    "pagination.prev-is-null-on-first-page": [
        defect("prev-of-the-first-is-the-first", "On page 1, `prev` names it again.",
               link("prev", lambda body: body["links"]["prev"] or body["links"]["first"])),
        defect("prev-of-the-first-is-page-0", "On page 1, `prev` names page 0.",
               link("prev", lambda body: body["links"]["prev"] or page_url(body, 0)))],
    "pagination.empty-list-is-page-1": [
        defect("empty-list-has-a-next-page", "The `next` of an empty list names page 2.",
               link("next", lambda body: page_url(body, 2), is_empty)),
        defect("empty-list-has-a-page-before", "The `prev` of an empty list names page 0.",
               link("prev", lambda body: page_url(body, 0), is_empty)),
        defect("empty-list-is-page-0", "An empty list says that it is page 0.",
               json_of("list", lambda body: body["meta"].update(page=0) if is_empty(body) else None))],
    "pagination.empty-list-has-one-page-at-most": [
        defect("empty-list-has-two-pages", "An empty list has two pages.",
               json_of("list", lambda body: body["meta"].update(total_pages=2) if is_empty(body) else None)),
        defect("empty-list-begins-with-page-2", "The `first` of an empty list names page 2.",
               link("first", lambda body: page_url(body, 2), is_empty))],
    "pagination.neighbours-past-the-end-exist": [
        defect("next-past-the-end-goes-on", "Past the last page, `next` names a page that there is not.",
               link("next", lambda body: page_url(body, body["meta"]["page"] + 1), custom.is_past_the_end),
               needs={"page-past-the-end": "empty"}),
        defect("prev-past-the-end-goes-on", "Past the last page, `prev` names a page that there is not.",
               link("prev", lambda body: page_url(body, body["meta"]["page"] - 1), custom.is_past_the_end),
               needs={"page-past-the-end": "empty"})],
    "envelopes.body-is-json": [
        defect("warning-before-lists", "The language's warning is printed before a list.",
               bytes_of("list", lambda text: custom.WARNING + text)),
        defect("warning-before-creates", "The language's warning is printed before the answer to a create.",
               bytes_of("create", lambda text: custom.WARNING + text)),
        defect("time-behind-reads", "A comment with the time that a read took follows its JSON.",
               bytes_of("read", lambda text: text + b"<!-- 12 ms -->")),
        defect("update-answers-no-body", "An update answers 204, without a body.", answers_as("update", 204, b"")),
        defect("create-answers-no-body", "A create answers 201 and no body.", answers_as("create", 201, b"")),
        defect("lists-hold-nan", "A list holds NaN, which is no JSON.",
               json_of("list", lambda body: body["meta"].__setitem__("ratio", float("nan")))),
        defect("trailing-comma-in-reads", "A read ends with a comma too many.",
               bytes_of("read", lambda text: text.rstrip()[:-1] + b",}")),
        defect("lists-are-scripts", "A list is wrapped in a function call, as JSONP.",
               bytes_of("list", lambda text: b"callback(" + text.strip() + b");")),
        defect("create-answers-twice", "The answer to a create is written twice in one body.",
               bytes_of("create", lambda text: text + text))],
    "envelopes.list-data-is-an-array": [
        defect("empty-list-is-null", "A list without records shows null as `data`.",
               json_of("list", lambda body: body.update(data=body["data"] or None))),
        defect("list-is-keyed-by-id", "A list's `data` is an object by id.",
               json_of("list", lambda body: body | {"data": {str(row["id"]): row for row in body["data"]}})),
        defect("later-pages-are-keyed-by-position", "From page 2 on, a list's `data` is an object by position.",
               json_of("list", custom.by_position)),
        defect("single-record-is-not-in-an-array", "A page of one record shows it without an array.",
               json_of("list", custom.single)),
        defect("rows-are-arrays", "A list's records are arrays of values, without names.",
               json_of("list", lambda body: body | {"data": [list(row.values()) for row in body["data"]]})),
        defect("records-are-not-under-data", "A list's records stand under `items`.",
               json_of("list", lambda body: {"items": body["data"], "meta": body["meta"], "links": body["links"]}))],
    "envelopes.list-meta-holds-integers": [
        defect("meta-page-is-text", "`meta.page` is text once `page` is sent.",
               meta("page", lambda m: str(m["page"]), lambda call: "page" in call.query)),
        defect("meta-size-is-text", "`meta.results_per_page` is text once a size is sent.",
               meta("results_per_page", lambda m: str(m["results_per_page"]),
                    lambda call: "results_per_page" in call.query)),
        defect("meta-total-is-text", "`meta.total` is text.", meta("total", lambda m: str(m["total"]))),
        defect("meta-total-is-named-total-results", "The total stands under `meta.total_results`.",
               json_of("list", lambda body: body["meta"].__setitem__("total_results", body["meta"].pop("total")))),
        defect("meta-total-pages-is-missing", "`meta` has no `total_pages`.",
               json_of("list", lambda body: drops("total_pages")(body["meta"]))),
        defect("meta-stands-in-pagination", "What belongs in `meta` stands in `meta.pagination`.",
               json_of("list", lambda body: body.__setitem__("meta", {"pagination": body["meta"]}))),
        defect("meta-is-an-empty-array", "Beyond page 1, `meta` is an empty array.",
               json_of("list", lambda body: body | {"meta": []} if body["meta"]["page"] > 1 else None))],
    "envelopes.list-links-are-strings": [
        defect("link-self-is-null", "`links.self` is null.", link("self", lambda _: None)),
        defect("link-first-is-missing", "`links` has no `first`.",
               json_of("list", lambda body: drops("first")(body["links"]))),
        defect("link-last-is-null-on-the-last-page", "On the last page, `links.last` is null.",
               link("last", lambda _: None, lambda body: body["links"]["self"] == body["links"]["last"])),
        defect("links-are-objects", "Each link is an object with an `href`.",
               json_of("list",
                  lambda body: body | {"links": {name: {"href": url} for name, url in body["links"].items()}}))],
    "envelopes.list-neighbours-are-strings-or-null": [
        defect("link-next-is-false", "Where there is no next page, `links.next` is false.",
               link("next", lambda body: body["links"]["next"] or False)),
        defect("link-prev-is-missing", "On page 1, `links` has no `prev`.",
               json_of("list", lambda body: drops("prev")(body["links"]) if body["meta"]["page"] == 1 else None)),
        defect("link-next-is-a-number", "`links.next` is the number of the next page.",
               link("next", lambda body: body["meta"]["page"] + 1, lambda body: bool(body["links"]["next"])))],
    "envelopes.read-data-is-an-object": [
        defect("read-data-is-an-array", "A read answers an array of one record.",
               json_of("read", lambda body: {"data": [body["data"]]})),
        defect("read-is-bare", "A read answers the record without `data` around it.",
               json_of("read", lambda body: body["data"])),
        defect("read-names-the-kind", "A read wraps the record once more, in `data.record`.",
               json_of("read", lambda body: {"record": body["data"]}))],
    "envelopes.create-answers-the-id": [
        defect("created-id-is-text", "A create answers its id as text.",
               json_of("create", custom.written_id_as_text("id"))),
        defect("created-id-is-bare", "A create answers the id without `data` around it.",
               json_of("create", lambda body: {"id": body["data"]["id"]})),
        defect("create-tells-no-id", "A create answers a message instead of the id.",
               json_of("create", lambda _: {"data": {"message": "Created."}})),
        defect("create-answers-an-empty-array", "A create answers an empty array as `data`.",
               json_of("create", lambda _: {"data": []}))],
    "envelopes.update-answers-the-id": [
        defect("update-answers-an-empty-object", "An update answers an empty object as `data`.",
               json_of("update", lambda _: {"data": {}})),
        defect("update-answers-an-empty-array", "An update answers an empty array as `data`.",
               json_of("update", lambda _: {"data": []})),
        defect("update-answers-true", "An update answers true as `data`.", json_of("update", lambda _: {"data": True})),
        defect("updated-id-is-text", "An update answers its id as the text from the path.",
               json_of("update", custom.written_id_as_text("id")))],
    "envelopes.update-id-is-the-path-id": [
        defect("updated-id-is-one-more", "An update answers an id that is one too high.",
               json_of("update", lambda body: {"data": {"id": body["data"]["id"] + 1}})),
        defect("updated-id-is-zero", "An update of a domain answers the id 0.",
               json_of("update", lambda _: {"data": {"id": 0}}), D),
        defect("updated-id-is-the-next", "An update answers the id that the next create will have.",
               json_by_call("update", custom.newest_id, has_known_key), S, N)],
    "envelopes.no-byte-order-mark": [
        defect("byte-order-mark", "Each body begins with a byte order mark.", custom.with_bom)],
    "representations.fields-are-present": [
        defect(f"{resource}-lack-{field.replace('_', '-')}-in-{operation}s",
               f"The {operation}s of {resource} lack `{field}`.", record(drops(field), operation), resource)
        for operation, resource, names in (
            ("list", S, "id name color last_datetime datetime"),
            ("list", D, "id scheme host custom_index_url is_enabled last_datetime datetime"),
            ("list", N, "id type name settings is_enabled last_datetime datetime"),
            ("read", S, "id color datetime"),
            ("read", D, "id host is_enabled datetime"),
            ("read", N, "id name is_enabled datetime"))
        for field in names.split()],
    "representations.id-is-an-integer": [
        defect("listed-id-is-text", "Lists show ids as text.", record(custom.as_text("id"), "list")),
        defect("read-id-is-text", "Reads show ids as text.", record(custom.as_text("id"), "read"))],
    "representations.integers-have-no-fraction": [
        defect("total-has-a-fraction", "`meta.total` is written with a fraction.",
               meta("total", lambda m: float(m["total"]))),
        defect("read-id-has-a-fraction", "Reads write ids with a fraction.", record(turns("id", float), "read"))],
    "representations.name-is-a-string": [
        defect("name-is-an-array", "Lists show names as arrays.", record(turns("name", lambda name: [name]), "list"), S,
               N),
        defect("name-is-translated", "Names are objects by language.", record(turns("name", lambda name: {"en": name})),
               S, N),
        defect("name-is-null", "Reads of splash pages show null as the name.", record(sets("name", None), "read"), S),
        defect("name-of-digits-is-a-number", "A name of digits is shown as a number.",
               record(turns("name", int), row=lambda row: str(row.get("name", "")).isdecimal()), S, N)],
    "representations.color-is-hex": [
        defect("color-is-short", "Colours have three digits.", record(sets("color", "#5ad"))),
        defect("color-lacks-its-sign", "Lists show colours without the number sign.",
               record(turns("color", lambda color: color[1:]), "list")),
        defect("color-has-opacity", "Reads show colours with eight digits.",
               record(turns("color", lambda color: f"{color}ff"), "read")),
        defect("color-is-a-function", "Colours are written as functions.", record(sets("color", "rgb(90, 103, 216)"))),
        defect("color-is-null", "Splash pages that were never updated have no colour.",
               record(sets("color", None), row=never_updated))],
    "representations.scheme-has-its-separator": [
        defect("scheme-lacks-its-separator", "Schemes lack their separator.",
               record(turns("scheme", lambda scheme: scheme[:-3]))),
        defect("scheme-has-a-colon-alone", "Schemes end with their colon.",
               record(turns("scheme", lambda scheme: scheme[:-2]))),
        defect("scheme-holds-the-host", "Reads show the host behind the scheme.",
               record(lambda row: row.update(scheme=row["scheme"] + row["host"]), "read")),
        defect("scheme-is-null", "Lists show null as the scheme.", record(sets("scheme", None), "list"))],
    "representations.host-is-a-string": [
        defect("host-is-an-array", "Lists show hosts as arrays of labels.",
               record(turns("host", lambda host: host.split(".")), "list")),
        defect("host-is-an-object", "Hosts are objects.", record(turns("host", lambda host: {"ascii": host})))],
    "representations.custom-index-url-is-a-string": [
        defect("unset-index-url-is-null", "A `custom_index_url` that is not set is null.",
               record(sets("custom_index_url", None), row=custom.has_no_index_url)),
        defect("unset-index-url-is-false", "Lists show a `custom_index_url` that is not set as false.",
               record(turns("custom_index_url", bool), "list", custom.has_no_index_url)),
        defect("index-url-is-an-object", "A `custom_index_url` that is set is an object.",
               record(turns("custom_index_url", lambda url: {"href": url}),
                      row=lambda row: bool(row["custom_index_url"])))],
    "representations.custom-index-url-is-empty-when-unset": [
        defect("unset-index-url-is-a-default", "A `custom_index_url` that is not set is some default.",
               record(sets("custom_index_url", "https://www.example.com/"), row=custom.has_no_index_url)),
        defect("unset-index-url-is-a-slash", "A `custom_index_url` that is not set is a slash.",
               record(sets("custom_index_url", "/"), row=custom.has_no_index_url)),
        defect("unset-index-url-is-the-word-null", "A `custom_index_url` that is not set is the text null.",
               record(sets("custom_index_url", "null"), row=custom.has_no_index_url))],
    "representations.custom-not-found-url-is-absent": [
        defect("not-found-url-is-empty", "Domains show an empty `custom_not_found_url`.",
               record(sets("custom_not_found_url", ""))),
        defect("not-found-url-is-listed", "Lists show `custom_not_found_url`, as null.",
               record(sets("custom_not_found_url", None), "list")),
        defect("not-found-url-is-read", "Reads show `custom_not_found_url`.",
               record(sets("custom_not_found_url", "https://www.example.com/404"), "read")),
        defect("not-found-url-is-what-was-written", "Domains show the `custom_not_found_url` that was written.",
               json_by_call("read list", custom.shows_what_was_written, has_known_key))],
    "representations.listed-as-read": [
        defect("listed-name-is-cut", "Lists cut names at three characters.",
               record(turns("name", lambda name: f"{name[:3]}…"), "list"), S, N),
        defect("listed-name-is-escaped", "Lists show names behind an entity.",
               record(turns("name", lambda name: escape(f"<{name}>")), "list"), S, N),
        defect("listed-settings-are-empty", "Lists show no settings of types other than `email`.",
               record(sets("settings", {}), "list", lambda row: not is_email(row)), N),
        defect("listed-is-enabled-is-the-opposite", "Lists show the opposite of `is_enabled`.",
               record(turns("is_enabled", lambda on: not on), "list"), N),
        defect("listed-index-url-is-empty", "Lists show no `custom_index_url`.",
               record(sets("custom_index_url", ""), "list"), D),
        defect("listed-datetime-is-in-another-zone", "Lists show `datetime` in another zone.",
               record(turns("datetime", lambda t: f"{t[:11]}{(int(t[11:13]) + 2) % 24:02}{t[13:]}"), "list")),
        defect("lists-are-never-renewed", "Lists show records as they were first listed.",
               json_by_call("list", custom.keep_first_version))],
    "representations.email-settings-hold-email-alone": [
        defect("unset-email-is-no-key", "The settings of type `email` are empty where no address was given.",
               record(sets("settings", {}), row=lambda row: is_email(row) and not row["settings"].get("email")), N,
               needs={"email-missing": "accepted"}),
        defect("unset-email-is-null", "The settings of type `email` hold null where no address was given.",
               record(sets("settings", {"email": None}),
                      row=lambda row: is_email(row) and not row["settings"].get("email")), N,
               needs={"email-missing": "accepted"}),
        defect("email-settings-say-more", "The settings of type `email` say whether it was verified.",
               record(lambda row: row["settings"].update(verified=True), row=is_email)),
        defect("email-settings-hold-null", "The settings of type `email` hold null.",
               record(lambda row: row["settings"].update(email=None), row=is_email)),
        defect("email-settings-hold-address", "The settings of type `email` call the key `address`.",
               record(turns("settings", lambda settings: {"address": settings["email"]}), row=is_email)),
        defect("email-settings-are-empty-in-lists", "Lists show no settings of type `email`.",
               record(sets("settings", {}), "list", is_email)),
        defect("email-settings-hold-an-array", "The settings of type `email` hold an array of addresses.",
               record(turns("settings", lambda settings: {"email": [settings["email"]]}), row=is_email))],
    "representations.datetime-has-the-stated-form": [
        defect("datetime-has-a-t", "`datetime` has a T between date and time.",
               record(turns("datetime", lambda t: t.replace(" ", "T")))),
        defect("datetime-has-a-zone", "Reads show a zone behind `datetime`.",
               record(turns("datetime", lambda t: f"{t}Z"), "read")),
        defect("datetime-lacks-seconds", "`datetime` ends with the minutes.",
               record(turns("datetime", lambda t: t[:-3]))),
        defect("datetime-has-microseconds", "Lists show `datetime` with microseconds.",
               record(turns("datetime", lambda t: f"{t}.000000"), "list")),
        defect("datetime-is-a-number", "`datetime` is the number of seconds since 1970.",
               record(sets("datetime", 1772442001))),
        defect("datetime-is-no-day", "Lists show a `datetime` that is no day of the calendar.",
               record(turns("datetime", lambda t: f"{t[:4]}-02-30{t[10:]}"), "list")),
        defect("datetime-is-zero", "Domains show a `datetime` of zeros.",
               record(sets("datetime", "0000-00-00 00:00:00")), D),
        defect("datetime-is-spelled-out", "`datetime` is in words.",
               record(turns("datetime", lambda t: f"{t[8:10]} March {t[:4]}")), N)],
    "representations.last-datetime-is-not-before-datetime": [
        defect("last-datetime-is-before-datetime", "After an update, `last_datetime` is two hours before `datetime`.",
               record(lambda row: row.update(last_datetime=custom.two_hours_before(row["datetime"])),
                      row=was_updated), needs={"last-datetime-after-update": "set"})],
    "representations.last-datetime-has-the-stated-form": [
        defect("last-datetime-is-empty", "`last_datetime` is an empty text before any update.",
               record(sets("last_datetime", ""), row=never_updated)),
        defect("last-datetime-is-0", "`last_datetime` is 0 before any update.",
               record(sets("last_datetime", 0), row=never_updated)),
        defect("last-datetime-is-zero", "`last_datetime` is a date of zeros before any update.",
               record(sets("last_datetime", "0000-00-00 00:00:00"), row=never_updated)),
        defect("last-datetime-is-false", "`last_datetime` is false before any update.",
               record(turns("last_datetime", bool), row=never_updated)),
        defect("last-datetime-has-a-t", "After an update, `last_datetime` has a T between date and time.",
               record(turns("last_datetime", lambda t: t.replace(" ", "T")), row=was_updated),
               needs={"last-datetime-after-update": "set"}),
        defect("last-datetime-is-a-number", "After an update, lists show `last_datetime` as a number.",
               record(sets("last_datetime", 1772442001), "list", was_updated),
               needs={"last-datetime-after-update": "set"})],
    "representations.last-datetime-is-null-before-any-update": [
        defect("last-datetime-is-set-by-the-create", "`last_datetime` is the time of the create before any update.",
               record(lambda row: row.update(last_datetime=row["datetime"]), row=never_updated)),
        defect("last-datetime-is-set-in-lists", "Lists show the time of the create as `last_datetime`.",
               record(lambda row: row.update(last_datetime=row["datetime"]), "list", never_updated))],
    "representations.is-enabled-is-a-boolean": [
        defect("is-enabled-is-a-number", "`is_enabled` is 0 or 1.", record(turns("is_enabled", int))),
        defect("is-enabled-is-text", "Lists show `is_enabled` as text.",
               record(turns("is_enabled", lambda on: str(int(on))), "list")),
        defect("is-enabled-is-pending", "Handlers that are disabled show 2, for pending.",
               record(sets("is_enabled", 2), row=lambda row: row["is_enabled"] is False), N),
        defect("is-enabled-is-null", "Domains that are disabled show null.",
               record(sets("is_enabled", None), row=lambda row: row["is_enabled"] is False), D,
               needs={"domain-starts": "disabled"}),
        defect("is-enabled-is-a-number-after-updates", "`is_enabled` is a number after an update.",
               record(turns("is_enabled", int), row=was_updated), needs={"last-datetime-after-update": "set"})],
    "representations.type-is-one-of-six": [
        defect("any-type-is-stored", "A handler of any type is stored and shown.", custom.any_type),
        defect("update-stores-any-type", "An update with any type is accepted, and the type shown.",
               custom.any_new_type),
        defect("type-is-shortened", "The type `microsoft_teams` is shown as `teams`.", record(custom.renamed_types)),
        defect("type-is-a-title", "Types are shown with a capital letter.", record(turns("type", str.title))),
        defect("type-is-a-number", "Lists show types as numbers.", record(sets("type", 3), "list"))],
    "representations.settings-is-an-object": [
        defect("empty-settings-are-an-array", "Settings without a key are an empty array, as PHP writes them.",
               record(sets("settings", []), row=lambda row: not row["settings"]), needs={"settings-unset": "absent"}),
        defect("settings-are-an-array", "Settings are an array of their values.",
               record(turns("settings", lambda settings: sorted(map(str, settings.values()))))),
        defect("settings-are-text", "Lists show settings as JSON in a text.",
               record(turns("settings", lambda settings: json.dumps(settings, sort_keys=True)), "list")),
        defect("settings-are-null", "Reads show null as settings of types other than `email`.",
               record(sets("settings", None), "read", lambda row: not is_email(row)))],
    "forms.name-required": [
        makes_up("splash-page", "name", S), makes_up("handler", "name", N),
        defect("splash-page-without-name-is-refused-and-made",
               "A create without `name` is refused, and makes a record all the same.",
               custom.filled_in("name", 400, stays_empty=True), S),
        defect("splash-page-without-name-is-called-made",
               "A create without `name` is told that it succeeded, and makes no record.", custom.claim_creation, S)],
    "forms.host-required": [
        makes_up("domain", "host", D),
        defect("domain-without-host-is-refused-and-made",
               "A create without `host` is refused, and makes a record all the same.", custom.filled_in("host", 400),
               D)],
    "forms.type-required": [
        makes_up("handler", "type", N),
        defect("handler-without-type-is-refused-and-made",
               "A create without `type` is refused, and makes a record all the same.", custom.filled_in("type", 400),
               N)],
    "forms.required-fields-alone-suffice": [
        defect(f"{noun}-needs-{field.replace('_', '-')}",
               f"A create without `{field}` is refused, where it is optional.",
               refuses("create", 422, applies=custom.lacks(field)), resource)
        for noun, field, resource in (
            ("splash-page", "title", S), ("domain", "custom_index_url", D), ("handler", "webhook", N))],
    "forms.optional-fields-are-accepted-on-create": [
        defect("many-fields-are-forbidden", "A create with more than eight fields is forbidden.",
               refuses("create", 403, applies=lambda call: len(call.parts) > custom.MANY_FIELDS), S),
        *takes_no("create", 400, "title secondary_button_name custom_css ads_header link_unlock_seconds", S),
        *takes_no("create", 400, "custom_index_url", D)],
    "forms.optional-fields-are-accepted-on-update": [
        *takes_no("update", 422, "description secondary_button_url custom_js ads_footer auto_redirect", S),
        *takes_no("update", 422, "custom_not_found_url", D),
        *takes_no("update", 422, "email", N),
        defect("chat-alone-is-refused", "An update of a bot's chat without its token is refused.",
               refuses("update", 422, applies=lambda call: set(call.form) == {"telegram_chat_id"}), N),
        defect("two-files-are-too-large", "An update with more than one file is refused as too large.",
               refuses("update", 413, applies=lambda call: call.body.count(b'filename="') > 1), S),
        *takes_no("update", 422, "slack telegram_chat_id", N)],
    "forms.required-fields-are-optional-on-update": [
        defect(f"{noun}-update-needs-{field}", f"An update without `{field}` is refused.",
               refuses("update", 400, applies=custom.lacks(field)), resource)
        for noun, field, resource in (
            ("splash-page", "name", S), ("domain", "host", D), ("handler", "name", N), ("handler", "type", N))],
    "forms.ordinary-input-does-not-fail": [
        defect("other-scripts-fail", "A write with letters beyond Latin-1 in the name fails.",
               custom.fails("create update", custom.has_letters_beyond("\xff")), S, N),
        defect("letters-of-four-bytes-fail", "A write with a letter beyond U+FFFF in the name fails.",
               custom.fails("create update", custom.has_letters_beyond("\uffff")), S, N),
        defect("code-of-a-page-fails", "An update with more than 255 characters of code fails.",
               custom.fails("update", lambda call: len(call.form.get("custom_css", "")) > custom.MAX_VARCHAR), S),
        defect("long-addresses-fail", "A write with an address of more than 200 characters fails.",
               custom.fails("create update", lambda call: any(len(text) > custom.MAX_TEXT for name, text in
                                                              call.form.items() if name.endswith("_url"))), S, D),
        defect("deleted-names-fail", "A create with the name or host of a deleted record fails.",
               custom.keeps_deleted_labels)],
    "forms.files-are-accepted": [
        defect(f"{operation}-takes-no-{field}",
               f"A file in `{field}` makes {'an' if operation == 'update' else 'a'} {operation} {effect}.",
               refuses(operation, status, applies=gives(field)), S)
        for operation, field, status, effect in (
            ("create", "logo", 422, "refused"), ("create", "favicon", 415, "refused"),
            ("create", "opengraph", 500, "fail"), ("update", "logo", 500, "fail"),
            ("update", "favicon", 400, "refused"), ("update", "opengraph", 501, "refused"))],
    "forms.types-are-accepted": [
        defect(f"type-{name.replace('_', '-')}-is-refused", f"No handler of type `{name}` can be made.",
               refuses("create", 400, applies=custom.makes(name)), N)
        for name in ("email", "webhook", "slack", "discord", "telegram", "microsoft_teams")],
    "forms.name-comes-back": [
        defect("name-is-misread", "Names are read in another encoding than they were sent in.",
               changes("name", custom.as_latin_1)),
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
        defect("name-loses-hyphens", "Names lose their hyphens.", changes("name", lambda name: name.replace("-", "")),
               needs={"text": "verbatim"}),
        defect("name-escapes-hyphens", "Names show entities for hyphens.",
               changes("name", lambda name: name.replace("-", "&#45;")), needs={"text": "verbatim"})],
    "forms.host-comes-back": [
        defect("host-gets-www", "Hosts get `www.` in front.", changes("host", lambda host: f"www.{host}", "create")),
        defect("host-is-marked-on-update", "An update puts a dot behind hosts.",
               changes("host", lambda host: f"{host}.local", "update")),
        defect("host-loses-hyphens", "Hosts lose their hyphens.", changes("host", lambda host: host.replace("-", "")))],
    "forms.custom-index-url-comes-back": [
        defect("index-url-loses-its-path", "A `custom_index_url` loses its path.",
               changes("custom_index_url", lambda url: "/".join(url.split("/")[:3]))),
        defect("index-url-gets-another-scheme", "A `custom_index_url` with `https` gets `http`.",
               changes("custom_index_url", lambda url: url.replace("https:", "http:"))),
        defect("index-url-loses-its-query", "A `custom_index_url` loses its query.",
               changes("custom_index_url", lambda url: re.sub(r"\?[^#]*", "", url)), needs=custom.VERBATIM),
        defect("index-url-loses-its-fragment", "A `custom_index_url` loses its fragment.",
               changes("custom_index_url", lambda url: url.partition("#")[0]), needs=custom.VERBATIM),
        defect("index-url-loses-plus-signs", "A `custom_index_url` has spaces for plus signs.",
               changes("custom_index_url", lambda url: url.replace("+", "%20")), needs=custom.VERBATIM),
        defect("index-url-loses-percent-signs", "A `custom_index_url` has its escapes read.",
               changes("custom_index_url", unquote), needs=custom.VERBATIM),
        defect("index-url-loses-capitals", "A `custom_index_url` is written in small letters.",
               changes("custom_index_url", str.lower), needs=custom.VERBATIM),
        defect("index-url-is-ignored-on-create", "A create ignores `custom_index_url`.",
               ignores("custom_index_url", "create"))],
    "forms.email-comes-back": [
        defect("email-loses-its-tag", "An address loses what follows a plus sign.",
               changes("email", lambda email: re.sub(r"\+[^@]*", "", email))),
        defect("email-loses-dots", "An address loses the dots before its domain.",
               changes("email", custom.without_dots)),
        defect("email-is-ignored-on-create", "A create ignores the address of a handler of type `email`.",
               form("create", lambda f: f | {"email": ""}, has("email")), needs={"email-missing": "accepted"}),
        defect("email-is-obscured", "An address is stored with stars.",
               changes("email", lambda email: f"{email[:1]}***{email[email.find('@') :]}"))],
    "forms.custom-not-found-url-stays-apart": [
        defect("not-found-url-becomes-the-index-url", "A `custom_not_found_url` is stored as `custom_index_url`.",
               form("create update", lambda f: f | {"custom_index_url": f["custom_not_found_url"]},
                    has("custom_not_found_url"))),
        defect("not-found-url-clears-the-index-url", "An update of `custom_not_found_url` clears `custom_index_url`.",
               form("update", lambda f: {"custom_index_url": ""} | f, has("custom_not_found_url")),
               needs={"cleared-text": "emptied"})],
    "forms.type-comes-back": [
        defect("slack-becomes-webhook", "A handler of type `slack` is made as one of type `webhook`.",
               form("create", lambda f: f | {"type": "webhook"}, lambda f: f.get("type") == "slack"),
               needs={"other-types-fields": "ignored"}),
        defect("every-type-is-webhook", "Every handler is made as one of type `webhook`.",
               form("create", lambda f: f | {"type": "webhook"}, lambda f: f.get("type") in TYPES),
               needs={"other-types-fields": "ignored"})],
    "forms.type-fields-show-in-settings": [
        *(defect(f"{field.replace('_', '-')}-is-lost", f"What is given as `{field}` does not show in the settings.",
                 ignores(field)) for field in ("webhook", "slack", "telegram", "telegram_chat_id")),
        defect("settings-are-read-as-latin-1", "Texts in settings are taken for Latin-1.",
               record(turns("settings", custom.misread_encoding)))],
    "forms.one-enables": [
        defect("one-disables", "An update with `is_enabled` of `1` disables.",
               form("update", lambda f: f | {"is_enabled": "0"}, has("is_enabled"))),
        defect("only-true-enables", "An update with `is_enabled` of `1` has no influence, only the word does.",
               form("update", loses("is_enabled"), lambda f: f.get("is_enabled") == "1")),
        defect("is-enabled-toggles", "Any `is_enabled` turns the state around.", custom.toggles)],
    "forms.zero-disables": [
        defect("zero-has-no-influence", "An update with `is_enabled` of `0` has no influence.",
               form("update", loses("is_enabled"), lambda f: f.get("is_enabled") == "0")),
        defect("zero-enables", "Any `is_enabled` enables.",
               form("update", lambda f: f | {"is_enabled": "1"}, has("is_enabled")))],
    "forms.is-enabled-is-optional-on-update": [
        defect("update-enables", "An update without `is_enabled` enables.",
               form("update", lambda f: {"is_enabled": "1"} | f)),
        defect("update-disables", "An update without `is_enabled` disables, as a form's empty box does.",
               form("update", lambda f: {"is_enabled": "0"} | f))],
    "forms.is-enabled-is-not-accepted-on-create": [
        defect("create-takes-a-zero", "A create with `is_enabled` of `0` makes a handler that is disabled.",
               then_do("create", custom.starts("0", enabled=False)),
               needs={"is-enabled-on-create": "ignored", "handler-starts": "enabled"}),
        defect("create-takes-a-one", "A create with `is_enabled` of `1` makes a handler that is enabled.",
               then_do("create", custom.starts("1", enabled=True)),
               needs={"is-enabled-on-create": "ignored", "handler-starts": "disabled"})],
    "forms.empty-text-is-stored": [
        defect("empty-addresses-are-skipped", "An update with an empty `custom_index_url` keeps the one before.",
               form("update", custom.without_empty_texts), D, needs={"cleared-text": "emptied"})],
    "forms.update-takes-what-create-takes": [
        defect("updates-of-8-kilobytes-are-refused", "An update of more than 8 kB is refused.",
               refuses("update", 413, applies=lambda call: len(call.body) > custom.MAX_BODY), S),
        defect("update-takes-shorter-names", "An update with a name of more than 64 characters is refused.",
               refuses("update", 422, applies=lambda call: len(call.form.get("name", "")) > custom.MAX_NAME), S, N)],
    "forms.client-shapes-are-understood": [
        defect("quoted-boundary-is-refused", "A boundary in quotes is taken with them.",
               refuses("create update", 400, applies=lambda call: 'boundary="' in custom.media_type(call))),
        defect("text-after-a-file-is-lost", "A text that stands behind a file is lost.",
               replaces("create update", custom.loses_texts_after_files), S),
        defect("typed-text-is-a-file", "A part with a media type is taken for a file.",
               replaces("create update", custom.loses_typed_texts)),
        defect("form-without-a-last-line-end-is-refused", "A form that ends with its last boundary is refused.",
               refuses("create update", 400, applies=lambda call: call.body.endswith(b"--"))),
        defect("part-with-a-length-fails", "A part that says its length makes the server fail.",
               refuses("create update", 500, applies=lambda call: b"\r\nContent-Length: " in call.body)),
        defect("create-does-not-know-quoted-boundaries", "A create with a boundary in quotes is refused.",
               refuses("create", 400, applies=lambda call: 'boundary="' in custom.media_type(call)), N)],
    "forms.any-boundary-is-understood": [
        defect("long-boundary-is-refused", "A boundary of over 64 characters is refused.",
               refuses("create update", 400, applies=lambda call: len(custom.boundary(call)) > custom.LONG_BOUNDARY)),
        defect("comma-in-a-boundary-is-refused", "A boundary with a comma is refused.",
               refuses("create update", 400, applies=lambda call: "," in custom.boundary(call)))],
    "forms.chunked-forms-are-understood": [
        defect("chunked-form-is-refused", "A form that comes in chunks is refused as if it were empty.",
               refuses("create update", 400, applies=custom.comes_in_chunks)),
        defect("chunked-form-is-lost", "A form that comes in chunks is taken for an empty one.",
               replaces("update", lambda call: call.sending({}) if custom.comes_in_chunks(call) else call), S)],
    "forms.empty-file-inputs-are-accepted": [
        defect("empty-file-input-is-refused", "A form in which no file was chosen is refused.",
               refuses("create update", 400, applies=lambda call: b'filename=""' in call.body))],
    "lifecycle.created-record-is-read": [
        defect("create-answers-an-id-that-is-not-there", "A create answers an id that no record has.",
               json_of("create", lambda body: {"data": {"id": body["data"]["id"] + 7000}}), D, N),
        defect("reads-show-the-newest", "A read shows the newest record.", custom.read_another(custom.newest)),
        defect("reads-show-the-oldest", "A read shows the oldest record.", custom.read_another(custom.oldest))],
    "lifecycle.created-record-is-listed-once": [
        defect("created-records-are-not-listed", "Records that were created are never listed.",
               custom.listing(lambda rows, created_ids: [row for row in rows if row["id"] not in created_ids])),
        defect("created-records-are-listed-twice", "Records that were created are listed twice.",
               custom.listing(lambda rows, created_ids: rows + [row for row in rows if row["id"] in created_ids]))],
    "lifecycle.created-id-is-new": [
        defect("create-answers-the-oldest-id", "A create answers the id of the oldest record.",
               custom.old_id(custom.oldest)),
        defect("create-answers-the-last-id", "A create answers the id of the record before it.",
               custom.old_id(custom.newest)),
        defect("create-answers-the-id-of-the-same-name",
               "A create of a name that there is answers the id of the record that has it, and makes none.",
               custom.same_name, S, N)],
    "lifecycle.create-leaves-other-records": [
        defect("create-renames-another", "A create renames another record.",
               then_do("create", changes_a_neighbour(renamed))),
        defect("create-renames-the-one-before", "A create of a handler renames the one that was created before it.",
               then_do("create", custom.renames_the_one_before), N),
        defect("create-removes-another", "A create removes another record.", then_do("create", removes_a_neighbour)),
        defect("create-toggles-another", "A create enables or disables another record.",
               then_do("create", changes_a_neighbour(toggled)), N)],
    "lifecycle.update-changes-what-it-names": [
        defect("updates-do-nothing", "An update says that it was carried out, and does nothing.", skips("update")),
        defect("splash-page-update-ignores-name", "An update ignores `name`.", ignores("name", "update"), S),
        defect("domain-update-ignores-host", "An update ignores `host`.", ignores("host", "update"), D),
        defect("domain-update-ignores-custom-index-url", "An update ignores `custom_index_url`.",
               ignores("custom_index_url", "update"), D),
        defect("handler-update-ignores-name", "An update ignores `name`.", ignores("name", "update"), N),
        defect("handler-update-ignores-type", "An update ignores `type`.", ignores("type", "update"), N,
               needs={"other-types-fields": "ignored"}),
        defect("update-ignores-email", "An update ignores `email` where it is the only field.",
               form("update", loses("email"), lambda f: list(f) == ["email"]), N),
        defect("update-with-many-fields-ignores-the-name", "An update of many fields ignores `name`.",
               form("update", loses("name"), lambda f: len(f) > custom.MAX_CREATES), S),
        defect("update-with-files-ignores-the-name", "An update with a file ignores `name`.",
               form("update", loses("name"), has("logo", "favicon", "opengraph")), S)],
    "lifecycle.update-leaves-other-fields": [
        defect("update-clears-the-index-url", "An update without `custom_index_url` clears it.",
               form("update", lambda f: {"custom_index_url": ""} | f), D, needs={"cleared-text": "emptied"}),
        defect("update-resets-the-name", "An update without `name` gives the record another.",
               form("update", lambda f: {"name": "Untitled"} | f), S, N),
        defect("update-clears-the-other-setting", "An update of a bot's token alone clears its chat, and vice versa.",
               form("update", lambda f: {"telegram": "", "telegram_chat_id": ""} | f,
                    lambda f: ("telegram" in f) != ("telegram_chat_id" in f)), N,
               needs={"other-types-fields": "ignored", "cleared-text": "emptied"}),
        defect("update-clears-the-settings", "An update of other fields clears the address of a webhook or of Slack.",
               form("update", lambda f: {"webhook": "", "slack": ""} | f), N,
               needs={"other-types-fields": "ignored", "cleared-text": "emptied"}),
        defect("update-resets-the-type", "An update without `type` makes the handler one for Slack.",
               form("update", lambda f: {"type": "slack"} | f), N, needs={"other-types-fields": "ignored"})],
    "lifecycle.update-keeps-datetime": [
        defect("update-changes-datetime", "An update sets `datetime` too.",
               custom.updated_shows("datetime", lambda _: custom.FUTURE_TIME)),
        defect("update-swaps-the-times", "After an update, `datetime` is the time of the update.",
               custom.updated_shows("datetime", lambda row: row["last_datetime"] or custom.FUTURE_TIME))],
    "lifecycle.update-leaves-other-records": [
        defect("update-renames-another", "An update renames another record too.",
               then_do("update", changes_a_neighbour(renamed))),
        defect("update-toggles-another", "An update enables or disables another record.",
               then_do("update", changes_a_neighbour(toggled)), N),
        defect("update-removes-another", "An update removes another record.", then_do("update", removes_a_neighbour)),
        defect("update-changes-all-of-the-same-name", "An update changes each record of the same name.",
               same_label("update"), S, N),
        defect("update-changes-all-of-the-same-host",
               "An update changes each record of the same host, whatever its capital letters.", same_label("update"), D,
               needs={"host-taken": "accepted", "host-letters": "lowered"}),
        defect("update-adds-a-record", "An update adds a record.", then_do("update", adds_another)),
        defect("update-renames-all", "An update with a name gives it to all records of the resource.",
               then_do("update", custom.renames_all), S, N)],
    "lifecycle.deleted-record-is-not-read": [
        defect("deletes-do-nothing", "A delete says that it was carried out, and does nothing.", skips("delete")),
        defect("deleted-records-are-read", "Deleted records are still read, but not listed.",
               custom.still_read(until_updated=False)),
        defect("reads-of-deleted-records-show-another", "A read of a deleted record shows the one before it.",
               custom.shows_another_when_gone)],
    "lifecycle.deleted-record-is-not-listed": [
        defect("deleted-records-are-listed", "Deleted records are still listed, but not read.", custom.keeps_listing),
        defect("third-delete-does-nothing", "From the third on, deletes do nothing.", custom.tires)],
    "lifecycle.deleted-record-stays-deleted": [
        defect("update-brings-back", "A deleted record is read again once it was updated.",
               custom.still_read(until_updated=True))],
    "lifecycle.delete-leaves-other-records": [
        defect("delete-removes-another-too", "A delete removes another record too.",
               then_do("delete", removes_a_neighbour)),
        defect("delete-renames-another", "A delete renames another record.",
               then_do("delete", changes_a_neighbour(renamed))),
        defect("delete-removes-all", "A delete removes all records of the resource.",
               then_do("delete", custom.removes_all))],
    "lifecycle.update-leaves-same-ids": [
        defect("updates-go-by-the-id-alone", "An update renames what has the same id in other resources, too.",
               then_do("update", custom.renames_same_ids(*RESOURCES)), needs=CONSECUTIVE),
        defect("domain-updates-go-by-the-id-alone", "An update of a domain renames the splash page with its id, too.",
               then_do("update", custom.renames_same_ids(S)), D, needs=CONSECUTIVE),
        defect("splash-page-updates-go-by-the-id-alone",
               "An update of a splash page renames the handler with its id, too.",
               then_do("update", custom.renames_same_ids(N)), S, needs=CONSECUTIVE)],
    "lifecycle.delete-leaves-same-ids": [
        defect("deletes-go-by-the-id-alone", "A delete removes what has the same id in other resources, too.",
               then_do("delete", custom.removes_same_ids(*RESOURCES)), needs=CONSECUTIVE),
        defect("domain-deletes-go-by-the-id-alone", "A delete of a domain removes the handler with its id, too.",
               then_do("delete", custom.removes_same_ids(N)), D, needs=CONSECUTIVE),
        defect("handler-deletes-go-by-the-id-alone", "A delete of a handler removes the splash page with its id, too.",
               then_do("delete", custom.removes_same_ids(S)), N, needs=CONSECUTIVE)],
    "lifecycle.update-takes-present-values": [
        defect("present-name-is-taken", "An update with the name or host of the record itself is refused.",
               refuses("update", 422, applies=custom.repeats_its_label)),
        defect("present-host-is-a-conflict", "An update with the host that the domain has is a conflict.",
               refuses("update", 409, applies=custom.repeats_its_label), D)],
    "lifecycle.ids-are-not-used-again": [
        defect("newest-id-is-used-again", "A create gets the highest id and one more, also if the highest was deleted.",
               then_do("delete", custom.gives_its_id_back), S, N, needs=CONSECUTIVE)],
    "lifecycle.created-record-shows-no-other": [
        defect("settings-come-from-the-one-before", "A new handler has the settings of the one before it.",
               custom.remembers_settings, N)],
    "lifecycle.refused-create-makes-nothing": [
        defect("refused-creates-are-stored", "A create that is refused for its type or an address makes a record.",
               custom.makes_what_it_refuses)],
    "lifecycle.refused-update-changes-nothing": [
        defect("refused-updates-are-stored", "An update that is refused for its type or number stores the name.",
               custom.stores_what_it_refuses)],
    "lifecycle.update-leaves-what-only-the-server-sets": [
        defect("update-turns-the-color-white", "An update makes the colour of a splash page white.",
               custom.updated_shows("color", lambda _: "#ffffff"), S),
        defect("update-drops-the-s-of-https", "An update gives a domain another scheme.",
               custom.updated_shows("scheme", custom.other_scheme), D)],
    "lifecycle.update-of-a-deleted-record-is-refused": [
        defect("updates-of-deleted-records-succeed", "An update of a deleted record is answered with success.",
               custom.takes_updates_of_deleted, needs={"unknown-id": "404"})],
    "lifecycle.reads-change-nothing": [
        defect("lists-touch-a-record", "A list sets `last_datetime` of its first record.",
               then_do("list", touches(lambda call: next(iter(call.records), None)))),
        defect("lists-rename-the-oldest", "A list of the largest size renames the oldest record.",
               then_do("list", custom.renames_the_oldest, custom.is_largest)),
        defect("reads-touch-the-record", "A read sets `last_datetime`.",
               then_do("read", touches(lambda call: call.record)))],
    "accounts.bearer-key-is-accepted": [
        defect("key-is-not-understood", "The account's key opens no splash page.",
               refuses("list create read update delete", 401), S),
        defect("key-is-forbidden", "The account's key may read no handler.", refuses("list read", 403), N)],
    "accounts.strangers-see-no-list": [
        *strangers_may("list", "list the account's records")],
    "accounts.strangers-are-refused": [
        defect("nobodys-updates-are-answered", "An update without a key is answered with success, and changes nothing.",
               custom.answers_nobody),
        defect("nobody-gets-an-empty-list", "Who sends no key gets an empty list.",
               custom.empty_for(custom.has_no_key)),
        defect("wrong-key-gets-an-empty-list", "Who sends a wrong key gets an empty list.",
               custom.empty_for(custom.has_wrong_key))],
    "accounts.both-at-once-stay-apart": [
        defect("lists-share-an-account", "A list shows the account whose list is under way.",
               custom.lists_for_the_one_before)],
    "accounts.creates-stay-in-their-account": [
        defect("one-create-lands-elsewhere", "One of many creates makes a record in another account.",
               custom.lands_elsewhere_once)],
    "accounts.connections-keep-no-key": [
        defect("connection-remembers-the-key", "A key in other cases counts as the one before it on its connection.",
               custom.remembers_by_connection, N)],
    "accounts.key-in-other-cases-is-refused": [
        defect("key-in-capitals-reads", "Who sends the key in capital letters can read the account's records.",
               custom.let_in("read", custom.key_that(lambda text, key: text != key and text.lower() == key.lower())),
               N)],
    "accounts.key-opens-nothing-elsewhere": [
        defect("another-scheme-lists", "Who sends the key under another scheme can list the account's records.",
               custom.let_in("list", custom.uses_another_scheme), S),
        defect("token-scheme-lists", "Who sends the key under the scheme Token can list the account's records.",
               custom.let_in("list", custom.uses_token_scheme)),
        defect("bare-key-lists", "Who sends the key without a scheme can list the account's records.",
               custom.let_in("list", custom.uses_no_scheme), S),
        defect("key-in-the-query-lists", "Who sends the key in the query can list the account's records.",
               custom.let_in("list", custom.sends_key_in_the_query)),
        defect("key-in-a-cookie-reads", "Who sends the key in a cookie can read the account's records.",
               custom.let_in("read", custom.sends_key_in_a_cookie), D),
        defect("key-as-a-parameter-reads", "Who sends the key as a parameter of Bearer can read the records.",
               custom.let_in("read", custom.sends_key_as_parameter), N)],
    "accounts.strangers-read-no-record": [
        *strangers_may("read", "read the account's records"),
        defect("longer-key-reads", "Who sends the key and more can read the account's records.",
               custom.let_in("read", custom.key_that(custom.is_longer)), D)],
    "accounts.strangers-create-nothing": [
        *strangers_may("create", "make records in the account"),
        defect("nobody-is-refused-and-creates", "Who sends no key is refused, and makes a record all the same.",
               custom.refuses_and_does("create", 401, custom.has_no_key))],
    "accounts.strangers-update-nothing": [
        *strangers_may("update", "change the account's records"),
        defect("nobody-is-refused-and-updates", "Who sends no key is refused, and changes the record all the same.",
               custom.refuses_and_does("update", 401, custom.has_no_key))],
    "accounts.strangers-delete-nothing": [
        *strangers_may("delete", "remove the account's records"),
        defect("nobody-is-refused-and-deletes", "Who sends no key is refused, and removes the record all the same.",
               custom.refuses_and_does("delete", 401, custom.has_no_key))],
    "accounts.other-account-sees-no-list": [
        defect("other-account-lists", "Another account's lists show this account's records.",
               custom.let_in("list", custom.is_other_account)),
        defect("other-account-lists-one", "Another account's lists begin with this account's newest record.",
               custom.mixed_lists)],
    "accounts.other-account-reads-nothing": [
        defect("other-account-reads", "Another account can read this account's records.",
               custom.let_in("read", custom.is_other_account)),
        defect("other-account-is-forbidden-and-shown",
               "Another account's read is refused, and shows the record in its body.", custom.forbids_and_shows)],
    "accounts.other-account-creates-apart": [
        defect("other-account-creates", "Another account's create makes a record in this account.",
               custom.let_in("create", custom.is_other_account))],
    "accounts.other-account-updates-nothing": [
        defect("other-account-updates", "Another account can change this account's records.",
               custom.let_in("update", custom.is_other_account)),
        defect("other-account-is-refused-and-updates",
               "Another account's update is refused, and changes the record all the same.",
               custom.refuses_and_does("update", 404, custom.is_other_account))],
    "accounts.other-account-deletes-nothing": [
        defect("other-account-deletes", "Another account can remove this account's records.",
               custom.let_in("delete", custom.is_other_account)),
        defect("other-account-is-refused-and-deletes",
               "Another account's delete is refused, and removes the record all the same.",
               custom.refuses_and_does("delete", 404, custom.is_other_account))],
    "robustness.odd-pages-do-not-fail": [
        defect("odd-page-fails", "A page that is no number, or not above 0, makes a list fail.",
               custom.fails("list", custom.odd_page)),
        defect("odd-size-fails", "A page size that is not allowed makes a list fail.",
               custom.fails("list", custom.odd_size))],
    "robustness.odd-ids-do-not-fail": [
        defect("unknown-id-fails", "A read of an id that no record has fails.", custom.unknown_id_fails)],
    "robustness.odd-text-does-not-fail": [
        defect("markup-fails", "A create with markup in a text fails.",
               custom.fails("create", lambda call: any("<b>" in text for text in call.form.values()))),
        defect("long-text-fails", "A create with a text of over 200 characters fails.",
               custom.fails("create", lambda call: any(len(text) > custom.MAX_TEXT for text in call.form.values())))],
    "robustness.stored-text-can-be-read": [
        defect("text-that-is-not-utf-8-breaks-lists",
               "A name that is not UTF-8 is stored, and then lists and reads that show it fail.",
               refuses("list read", 500, custom.FAILURE, custom.shows_broken_text))],
    "robustness.odd-forms-do-not-fail": [
        defect("update-without-a-body-fails", "An update without a body fails.",
               custom.fails("update", lambda call: not call.body)),
        defect("malformed-form-fails", "A create whose form is empty or cut off fails.",
               custom.fails("create", custom.empty_form))],
    "robustness.strangers-do-not-fail": [
        defect("nobody-fails", "Every request without a key fails.", custom.fails_for(custom.has_no_key)),
        defect("wrong-key-fails", "Every request with a wrong key fails.",
               custom.fails_for(custom.has_wrong_key))],
    "concurrency.updates-leave-other-fields": [
        defect("update-undoes-one-under-way", "Of two updates that overlap, the second undoes the first.",
               custom.undoes, D, N),
        defect("update-undoes-a-setting", "Of two updates of one handler's settings that overlap, one is lost.",
               custom.undoes_a_setting, N)],
    "concurrency.reads-show-whole-records": [
        defect("read-shows-half-an-update", "A read while a record is updated shows one field new and the others old.",
               custom.tears, D, N)],
    "concurrency.deleted-record-stays-deleted": [
        defect("overlapping-update-brings-back", "A delete and an update that overlap leave the record there.",
               custom.brings_back)],
    "concurrency.creates-answer-different-ids": [
        defect("creates-that-overlap-answer-one-id", "Creates that overlap answer the same id.",
               custom.answers_one_id)],
    "concurrency.created-records-are-listed-once": [
        defect("create-that-overlaps-is-lost", "Of creates that overlap, one record alone is kept.",
               custom.loses_overlapping)],
    "concurrency.totals-come-right": [
        defect("total-drifts", "Creates or deletes that overlap raise `total` for good.", custom.counts_once_more)],
    "concurrency.lists-show-a-record-once": [
        defect("list-shows-a-row-twice-during-creates", "A list while a record is created shows a record twice.",
               custom.changes_lists_during_creates(custom.shows_twice))],
    "concurrency.lists-agree-with-themselves": [
        defect("total-runs-ahead-during-creates", "A list while a record is created counts one more than it shows.",
               custom.changes_lists_during_creates(custom.counts_one_more))],
    "robustness.simultaneous-reads-agree": [
        defect("lists-share-a-clock", "Lists that are sent while another is under way show other times.",
               custom.garbles_times)],
    "robustness.requests-work-in-parallel": [
        defect("requests-fail-while-another-resource-is-written", "Requests fail while another resource is written to.",
               custom.is_busy)],
    "concurrency.created-records-keep-their-values": [
        defect("creates-share-a-form", "Creates that overlap store the name of the first.",
               custom.takes_the_name_of_another, S, N)],
    "concurrency.accounts-stay-apart": [
        defect("create-lands-in-another-account", "A record lands in an account that sends lists during its create.",
               custom.lands_elsewhere)],
    "concurrency.requests-do-not-fail": [
        defect("write-fails-while-another-is-under-way", "A write fails while another of its resource is carried out.",
               custom.is_locked)],
    "concurrency.bursts-of-reads-are-answered": [
        defect("reads-fail-beyond-thirty-at-a-time", "Of more than 30 reads at a time, the others fail.",
               custom.locks_up)],
}
# fmt: on


def by_name(table: Table, rules: Mapping[str, Rule]) -> dict[str, Defect]:
    """The defects of a table, by name.

    Args:
        table: the defects of each rule.
        rules: the rules of the contract by id.

    Raises:
        ValueError: if a name is used twice, or a rule is unknown.
    """
    defects: dict[str, Defect] = {}
    for rule, row in ((rule, row) for rule, rows in table.items() for row in rows):
        defect = row(rule)
        if defect.name in defects:
            raise ValueError(f'two defects are called "{defect.name}"; name one of them otherwise')
        if rule not in rules:
            raise ValueError(
                f'the defect "{defect.name}" breaks "{rule}", which is no rule of openapi.yaml; add it to x-rules'
            )
        defects[defect.name] = replace(defect, resources=defect.resources or rules[rule].resources)
    return defects


DEFECTS = by_name(TABLE, RULES)


def defects_named(names: Iterable[str]) -> list[Defect]:
    """The defects of these names.

    Raises:
        SettingsError: if a name is unknown or given twice, or there are too many.
    """
    names = list(names)
    if len(set(names)) < len(names) or len(names) > MAX_DEFECTS:
        raise SettingsError(f"there are {len(names)} defects; give each once, and {MAX_DEFECTS} at most")
    unknown = [name for name in names if name not in DEFECTS]
    if unknown:
        similar = get_close_matches(unknown[0], DEFECTS, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(similar)}?" if similar else "`mock-server list defects` names them all"
        raise SettingsError(f'no defect "{unknown[0]}"; {hint}')
    return [DEFECTS[name] for name in names]


def needs(defects: Iterable[Defect], choices: Mapping[str, str]) -> dict[str, str]:
    """The values of open points without which some defects do not show.

    Raises:
        SettingsError: if another value was chosen.
    """
    needed = {point: (value, defect.name) for defect in defects for point, value in defect.needs.items()}
    for point, (value, name) in needed.items():
        chosen_value = choices.get(point, choices.get(f"open.{point}", value))
        if chosen_value != value:
            raise SettingsError(f'the defect "{name}" does not show with {point}={chosen_value}; leave that out')
    return {point: value for point, (value, _) in needed.items()}
