"""The rules that are bound to fall with a broken rule: no server can break it and keep all of them."""

from __future__ import annotations

from link_management_contract import shipped_contract

TOTALS = (
    "pagination.page-is-filled",
    "pagination.total-pages-is-the-ceiling",
    "pagination.total-counts-the-records",
    "pagination.last-names-the-last-page",
    "pagination.next-names-the-next-page",
    "pagination.next-is-null-on-last-page",
    "pagination.neighbours-past-the-end-exist",
)
NUMBERS = (
    "operations.list-answers",
    "pagination.meta-page-is-the-page-asked-for",
    "pagination.self-names-this-page",
    "pagination.prev-names-the-previous-page",
    "pagination.pages-partition-the-collection",
)
STATE = ("forms.one-enables", "forms.zero-disables", "forms.is-enabled-is-optional-on-update")
CREATES = (
    "forms.required-fields-alone-suffice",
    "forms.optional-fields-are-accepted-on-create",
    "forms.files-are-accepted",
    "forms.types-are-accepted",
)
UPDATES = (
    "forms.optional-fields-are-accepted-on-update",
    "forms.required-fields-are-optional-on-update",
    "forms.files-are-accepted",
    *STATE,
)
BACK = (
    *(rule for rule in sorted(shipped_contract().rules) if rule.endswith("-comes-back")),
    "forms.type-fields-show-in-settings",
)
READ = "lifecycle.created-record-is-read"
LISTED = "representations.listed-as-read"
LISTED_ONCE = "lifecycle.created-record-is-listed-once"
PARTITION = "pagination.pages-partition-the-collection"
AT_PROJECTS = "operations.splash-pages-created-at-projects"
CHANGES = "lifecycle.update-changes-what-it-names"
OTHER_FIELDS = "lifecycle.update-leaves-other-fields"
NULL_AT_FIRST = "representations.last-datetime-is-null-before-any-update"

CONSEQUENCES: dict[str, tuple[str, ...]] = {
    "operations.list-answers": ("robustness.odd-pages-do-not-fail",),
    "operations.read-answers": (AT_PROJECTS, READ),
    "operations.create-answers": CREATES,
    "operations.update-answers": UPDATES,
    AT_PROJECTS: ("pagination.total-follows-creates", "forms.name-required", READ, LISTED_ONCE),
    "operations.reads-redirected-within-host": (
        *TOTALS,
        *NUMBERS,
        "pagination.allowed-sizes-are-kept",
        LISTED_ONCE,
    ),
    "pagination.page-defaults-to-1": (*TOTALS, *NUMBERS, "pagination.prev-is-null-on-first-page"),
    "pagination.size-defaults-to-25": (*TOTALS, *NUMBERS),
    "pagination.allowed-sizes-are-kept": NUMBERS,
    "pagination.page-is-filled": (
        "pagination.size-defaults-to-25",
        "pagination.allowed-sizes-are-kept",
        "pagination.other-sizes-are-not-used",
        "pagination.total-counts-the-records",
        PARTITION,
        LISTED_ONCE,
    ),
    "pagination.total-counts-the-records": (*TOTALS, *NUMBERS, "pagination.total-follows-creates"),
    "pagination.total-follows-creates": (*TOTALS, *NUMBERS, "pagination.total-follows-deletes"),
    "pagination.total-follows-deletes": (*TOTALS, *NUMBERS),
    PARTITION: (*TOTALS, *NUMBERS),
    "pagination.order-is-the-same-again": (PARTITION, "pagination.page-defaults-to-1"),
    "pagination.links-have-the-stated-path": (
        "pagination.links-name-the-collection",
        "pagination.links-begin-with-the-base-url",
    ),
    "pagination.next-is-null-on-last-page": (
        "pagination.links-have-the-stated-path",
        "pagination.links-hold-page-alone",
        "pagination.links-begin-with-the-base-url",
        "pagination.neighbours-past-the-end-exist",
    ),
    "envelopes.list-meta-holds-integers": ("pagination.other-sizes-are-not-used",),
    "envelopes.list-links-are-strings": (
        "envelopes.list-neighbours-are-strings-or-null",
        "pagination.next-is-null-on-last-page",
        "pagination.prev-is-null-on-first-page",
    ),
    "envelopes.list-neighbours-are-strings-or-null": ("pagination.next-is-null-on-last-page",),
    "representations.fields-are-present": (PARTITION, LISTED_ONCE),
    "representations.id-is-an-integer": (READ,),
    "representations.last-datetime-has-the-stated-form": (NULL_AT_FIRST,),
    "representations.name-is-a-string": (CHANGES,),
    "representations.type-is-one-of-six": ("forms.type-comes-back",),
    LISTED: (*BACK, "forms.is-enabled-is-not-accepted-on-create"),
    "forms.required-fields-alone-suffice": CREATES,
    "forms.optional-fields-are-accepted-on-create": CREATES,
    "forms.files-are-accepted": (*CREATES, *UPDATES),
    "forms.types-are-accepted": CREATES,
    "forms.client-shapes-are-understood": (CHANGES,),
    "forms.optional-fields-are-accepted-on-update": ("operations.update-answers", *UPDATES),
    "forms.required-fields-are-optional-on-update": ("operations.update-answers", *UPDATES),
    "forms.name-comes-back": (CHANGES,),
    "forms.host-comes-back": (CHANGES,),
    "forms.custom-index-url-comes-back": (CHANGES,),
    "forms.custom-not-found-url-stays-apart": ("forms.custom-index-url-comes-back", OTHER_FIELDS),
    "forms.one-enables": STATE,
    READ: (*BACK, *STATE, LISTED_ONCE, CHANGES, OTHER_FIELDS, "lifecycle.update-keeps-datetime"),
    LISTED_ONCE: (
        *TOTALS,
        *NUMBERS,
        "pagination.size-defaults-to-25",
        "pagination.allowed-sizes-are-kept",
        "pagination.other-sizes-are-not-used",
    ),
    "lifecycle.created-id-is-new": (
        *BACK,
        AT_PROJECTS,
        "pagination.total-follows-creates",
        "representations.custom-index-url-is-empty-when-unset",
    ),
    "lifecycle.create-leaves-other-records": (
        *BACK,
        *UPDATES,
        "operations.update-answers",
        "operations.delete-answers",
        "pagination.total-follows-creates",
        "pagination.total-follows-deletes",
        "envelopes.update-answers-the-id",
        "forms.is-enabled-is-not-accepted-on-create",
        LISTED_ONCE,
        OTHER_FIELDS,
    ),
    CHANGES: (*BACK, *STATE),
    OTHER_FIELDS: (*BACK, "forms.custom-not-found-url-stays-apart", CHANGES),
    "lifecycle.update-leaves-other-records": (
        LISTED,
        NULL_AT_FIRST,
        "operations.update-answers",
        "operations.delete-answers",
    ),
    "lifecycle.deleted-record-is-not-read": (
        "pagination.total-follows-deletes",
        "lifecycle.deleted-record-is-not-listed",
    ),
    "lifecycle.deleted-record-is-not-listed": (
        "pagination.total-follows-deletes",
        "lifecycle.deleted-record-is-not-read",
    ),
    "lifecycle.delete-leaves-other-records": ("operations.delete-answers",),
    "concurrency.creates-answer-different-ids": ("concurrency.created-records-are-listed-once",),
    "concurrency.totals-come-right": (*TOTALS, *NUMBERS),
    "lifecycle.reads-change-nothing": (
        NULL_AT_FIRST,
        "lifecycle.create-leaves-other-records",
        "lifecycle.update-leaves-other-records",
        "lifecycle.delete-leaves-other-records",
    ),
}
SHOWN = ("representations.", "lifecycle.create-leaves", "lifecycle.reads-change")


def also(rule: str) -> frozenset[str]:
    """The rules that are bound to fall with a rule; what is wrong in one place also differs from another place."""
    shown = (LISTED,) if rule.startswith(SHOWN) and rule != LISTED else ()
    return frozenset((*CONSEQUENCES.get(rule, ()), *shown))
