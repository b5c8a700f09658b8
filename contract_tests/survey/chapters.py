"""The chapters of a visit, and which of them each rule needs."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum, auto
from fnmatch import fnmatchcase

from link_management_contract import Rule


class Chapter(Enum):
    """A part of a visit that can be left out."""

    PAGING = auto()
    CREATING = auto()
    UPDATING = auto()
    ACCESS = auto()
    OMITTING = auto()
    ODD_FORMS = auto()
    DELETING = auto()
    ANOTHER_SECOND = auto()  # between the create and the updates of a record


Chapters = frozenset[Chapter]
EVERY = frozenset(Chapter)
PAGES, MADE = frozenset({Chapter.PAGING}), frozenset({Chapter.CREATING})
CHANGED, GONE = MADE | {Chapter.UPDATING}, MADE | {Chapter.DELETING}
NEEDS: tuple[tuple[str, Chapters], ...] = (  # the first pattern that matches a rule's id
    ("operations.list-*", PAGES),
    ("operations.read-*", PAGES | CHANGED),
    ("operations.update-*", CHANGED),
    ("operations.delete-*", GONE),
    ("operations.splash-*", PAGES | MADE),
    ("operations.writes-*", CHANGED | GONE),
    ("operations.reads-*", PAGES | MADE),
    ("operations.*", MADE),
    ("pagination.total-follows-deletes", PAGES | GONE),
    ("pagination.*", PAGES | MADE),
    ("envelopes.list-*", PAGES),
    ("envelopes.update-*", CHANGED),
    ("envelopes.create-*", MADE),
    ("envelopes.*", PAGES | CHANGED),
    ("representations.*-before-any-update", PAGES | MADE),
    ("representations.*-when-unset", PAGES | MADE),
    ("representations.*", PAGES | CHANGED),
    ("forms.*-required", frozenset({Chapter.OMITTING})),
    ("forms.*-on-create", MADE),
    ("forms.required-fields-alone-suffice", MADE),
    ("forms.types-are-accepted", MADE),
    ("forms.*", CHANGED),
    ("lifecycle.create*", PAGES | MADE),
    ("lifecycle.delete*", CHANGED | GONE),
    ("lifecycle.update-keeps-datetime", CHANGED | {Chapter.ANOTHER_SECOND}),
    ("lifecycle.update-*", PAGES | CHANGED),
    ("lifecycle.*", PAGES | CHANGED),
    ("accounts.bearer-*", PAGES | CHANGED | GONE),
    ("accounts.*", PAGES | CHANGED | {Chapter.ACCESS}),
    ("robustness.odd-pages-*", PAGES),
    ("robustness.odd-ids-*", CHANGED | GONE),
    ("robustness.*", frozenset({Chapter.ODD_FORMS})),
    ("concurrency.*", MADE),
)


def needed(rules: Iterable[Rule]) -> Chapters:
    """The chapters that some rules need."""
    return frozenset(
        chapter
        for rule in rules
        for chapter in next(chapters for pattern, chapters in NEEDS if fnmatchcase(rule.id, pattern))
    )
