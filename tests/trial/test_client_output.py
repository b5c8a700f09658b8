"""What is read from the output of test runners, as they print it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mock_server.trial.client_output import (
    failing_cases,
    failing_tests,
    first_error,
    own_limit,
    pattern_of,
    without_colours,
)

PYTEST = """
E   AssertionError: no - way
E   assert 'a b' == 1

test_a.py:3: AssertionError
=========================== short test summary info ============================
FAILED test_a.py::test_x[a b] - AssertionError: no - way
1 failed in 0.24s
"""
UNITTEST = """F
======================================================================
FAIL: test_x (__main__.T.test_x)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "u.py", line 3, in test_x
AssertionError: 1 != 2

FAILED (failures=1)
"""
TAP = """TAP version 13
    # Subtest: adds up
    not ok 1 - adds up
      ---
      duration_ms: 5.994531
      location: 'a.test.mjs:2:29'
      failureType: 'testCodeFailure'
      error: '1 == 2'
      code: 'ERR_ASSERTION'
      ...
    ok 2 - is fine
not ok 1 - a suite
  ---
  duration_ms: 14.580842
  type: 'suite'
  failureType: 'subtestsFailed'
  error: '1 subtest failed'
  ...
# fail 1
"""
TAP_OF_SEVERAL_LINES = """TAP version 13
not ok 1 - adds up
  ---
  failureType: 'testCodeFailure'
  error: |-
    Expected values to be strictly equal:

    'a' !== 'b'

  code: 'ERR_ASSERTION'
  ...
"""
VITEST = """
 \x1b[31m\u276f\x1b[39m t/a.test.ts (3 tests | 1 failed) 105ms
     \x1b[31m\u00d7\x1b[39m are listed 42ms
     \u2713 ok 0ms

 FAIL  t/a.test.ts > domains > are listed
AssertionError: expected 1 to be 2 // Object.is equality

 Test Files  1 failed (1)
   Duration  1.08s (transform 82ms, setup 0ms, import 118ms, tests 105ms, environment 0ms)
"""
PLAYWRIGHT = """
  \u2718  1 [chromium] \u203a a.spec.ts:2:84 \u203a domains \u203a wait (53ms)
  \u2718  2 [chromium] \u203a a.spec.ts:2:84 \u203a domains \u203a wait (retry #1) (53ms)
  \u2713  3 [chromium] \u203a a.spec.ts:2:166 \u203a domains \u203a ok (8ms)

  1) [chromium] \u203a a.spec.ts:2:84 \u203a domains \u203a wait \u2500\u2500\u2500\u2500\u2500\u2500\u2500\u2500

    Test timeout of 5000ms exceeded.

    Error Context: test-results/a-domains-wait/error-context.md

  1 failed
  14 passed (22.6s)
"""
OTHERS = """
--- FAIL: TestDomains (0.00s)
test domains::are_listed ... FAILED
rspec ./spec/domains_spec.rb:3 # domains are listed
  \u25cf domains \u203a are shown
"""


@pytest.mark.parametrize(
    ("output", "tests", "reason"),
    [
        (PYTEST, ["test_a.py::test_x[a b]"], "AssertionError: no - way"),
        (UNITTEST, ["test_x (__main__.T.test_x)"], "AssertionError: 1 != 2"),
        (TAP, ["adds up"], "1 == 2"),
        (TAP_OF_SEVERAL_LINES, ["adds up"], "Expected values to be strictly equal:; 'a' !== 'b'"),
        (VITEST, ["t/a.test.ts > domains > are listed"], "AssertionError: expected 1 to be 2 // Object.is equality"),
        (
            PLAYWRIGHT,
            ["[chromium] \u203a a.spec.ts:2:84 \u203a domains \u203a wait"],
            "Test timeout of 5000ms exceeded.",
        ),
        (
            OTHERS,
            [
                "TestDomains",
                "domains::are_listed",
                "./spec/domains_spec.rb:3 # domains are listed",
                "domains \u203a are shown",
            ],
            "",
        ),
        ("all is well\nno, it is not\n", [], "no, it is not"),
        ("", [], ""),
    ],
    ids=["pytest", "unittest", "TAP", "TAP of several lines", "Vitest", "Playwright", "others", "no runner", "nothing"],
)
def test_the_failing_tests_and_the_first_error_are_read(output: str, tests: list[str], reason: str) -> None:
    assert (failing_tests(without_colours(output)), first_error(without_colours(output))) == (tests, reason)


@pytest.mark.parametrize(
    ("output", "limit"),
    [
        (PLAYWRIGHT, "5000ms"),
        ("Error: Test timed out in 50ms.", "50ms"),
        ("thrown: Exceeded timeout of 5000 ms for a test.", "5000 ms"),
        (VITEST, ""),
    ],
    ids=["Playwright", "Vitest", "Jest", "none"],
)
def test_the_limit_of_a_runner_is_told_from_a_failure(output: str, limit: str) -> None:
    assert own_limit(output) == limit


def test_a_junit_file_counts_if_it_is_of_this_run(tmp_path: Path) -> None:
    path = tmp_path / "junit.xml"
    assert failing_cases(path, 0) is None
    path.write_text("<testsuites><testsuite><testcase classname='a' name='b'><failure/></testcase><testcase name='c'>")
    assert failing_cases(path, 0) is None
    path.write_text(
        "<testsuites><testsuite><testcase classname='a' name='b'><failure message='no such record'/></testcase>"
        "<testcase name='c'/><testcase name='d'><error>Error: a\nat b</error></testcase></testsuite></testsuites>"
    )
    assert failing_cases(path, 0) == {"a > b": "no such record", "d": "Error: a"}
    assert failing_cases(path, path.stat().st_mtime + 1) is None


@pytest.mark.parametrize("encoding", ["Shift_JIS", "utf-7", "no-such-encoding"])
def test_a_junit_file_that_nobody_can_read_is_none(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "junit.xml"
    path.write_text(f"<?xml version='1.0' encoding='{encoding}'?><testsuites/>")
    assert failing_cases(path, 0) is None
    path.unlink()
    os.mkfifo(path)
    assert failing_cases(path, 0) is None


@pytest.mark.parametrize(
    ("tests", "pattern"),
    [
        (["[chromium] \u203a a.spec.ts:2:84 \u203a domains \u203a can't wait (1 of 2)"], "can.+t.+wait.+1.+of.+2.+"),
        (["src/a.test.ts > lists > the latest", "domains are listed"], "the.+latest|domains.+are.+listed"),
        ([], "."),
    ],
)
def test_tests_are_selected_by_their_titles(tests: list[str], pattern: str) -> None:
    assert pattern_of(tests) == pattern
