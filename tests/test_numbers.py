"""The limits that the pages promise are those of the code; what a limit does is tried where its code is tried."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contract_tests.commands import mcp
from contract_tests.options import RunOptions
from contract_tests.reports import ci
from contract_tests.survey import other_runs
from contract_tests.target import availability, budget, connection
from link_management_contract import agents
from mock_server import output, server
from mock_server.api import forms
from mock_server.control import api as control_api
from mock_server.control import backend, instance, plane
from mock_server.effects import effect
from mock_server.forwarding import gateway as proxy
from mock_server.forwarding import proxied_exchange, upstream
from mock_server.http import form_parts, gateway, messages
from mock_server.journal import journal
from mock_server.settings import documents, settings
from mock_server.shared import collection as shared_collection
from mock_server.shared import journal as shared_journal
from mock_server.store import accounts, fixtures, records
from mock_server.trial import runs, trouble

ROOT = Path(__file__).parents[1]
KB, MB = 2**10, 2**20
DEFAULTS = settings.Settings()
SECURITY = [
    ("| connections | 1,000, and 100 fewer than", [server.MAX_CONNECTIONS, server.SPARE_FILES], [1000, 100]),
    ("head that does not come | 15 s;", server.IDLE.header_read_timeout, 15_000),
    ("head of a request | 64 KiB,", server.IDLE.max_buffer_size, 64 * KB),
    (
        "| 16 MiB with a key that opens an account, 16 KiB kept without |",
        [DEFAULTS.max_body, instance.MAX_UNKNOWN_BODY],
        [16 * MB, 16 * KB],
    ),
    ("| a body to the control plane | 48 MiB |", plane.MAX_BODY_BYTES, 48 * MB),
    (
        "| 15 s without a byte; 15 s and then 10 kB/s in all | 408",
        [messages.SECONDS_FOR_A_BODY, messages.MIN_BYTES_PER_SECOND],
        [15, 10_000],
    ),
    (
        "| long bodies (over 64 KiB) read at a time | 32 MiB |",
        [messages.SMALL, gateway.MAX_LARGE_BYTES],
        [64 * KB, 32 * MB],
    ),
    ("| 1,000 parts; 20 headers", [form_parts.MAX_PARTS, form_parts.MAX_HEADERS], [1000, 20]),
    (
        "2 KiB of them in a part; 4 MiB in a text;",
        [form_parts.MAX_HEAD_BYTES, form_parts.MAX_TEXT_BYTES],
        [2 * KB, 4 * MB],
    ),
    ("1 MiB urlencoded, or with lines", [form_parts.MAX_URLENCODED_BYTES, form_parts.MAX_UNUSUAL_BYTES], [MB, MB]),
    ("64 KiB before the first part |", form_parts.MAX_PREAMBLE_BYTES, 64 * KB),
    ("| a text field | 1,048,576 characters |", forms.MAX_TEXT_LENGTH, 1_048_576),
    ("over a second | 1,000, or 32 MiB |", [gateway.MAX_DELAYED, gateway.MAX_HELD_BYTES], [1000, 32 * MB]),
    ("over a second | 1,000,", gateway.SECONDS_FOR_ALL, 1),
    ("| long answers (over 256 KiB)", gateway.LONG_ANSWER, 256 * KB),
    (
        "2,000 characters; 20, of which 3 defects",
        [effect.MAX_PREFER_LENGTH, effect.MAX_PREFERENCES, effect.MAX_DEFECTS],
        [2000, 20, 3],
    ),
    ("| an API key | 200 characters |", settings.MAX_KEY_LENGTH, 200),
    ("| what an account takes in memory by writes | 32 MiB |", accounts.MAX_ACCOUNT_BYTES, 32 * MB),
    ("| what all together take by writes | 64 MiB |", accounts.MAX_TOTAL_BYTES, 64 * MB),
    ("| sandboxes | 1,000 ", DEFAULTS.sandboxes, 1000),
    ("| contents of uploaded files | 32 MiB |", records.LIMIT, 32 * MB),
    ("| 1,000 requests, about 8 MiB, and 16 MiB", [DEFAULTS.journal, journal.MAX_BYTES], [1000, 8 * MB]),
    ("16 MiB of whole answers", journal.MAX_ANSWER_BYTES, 16 * MB),
    ("| snapshots | 20, 64 MiB |", [backend.MAX_SNAPSHOTS, backend.MAX_SNAPSHOT_BYTES], [20, 64 * MB]),
    ("| 100, with 1 MiB of JSON in each body |", [effect.MAX_EFFECTS, effect.MAX_BODY_BYTES], [100, MB]),
    ("together may take 1.25 MiB", shared_journal.MAX_FORCED_BYTES, 1.25 * MB),
    ("| log lines that nobody reads | 10,000 |", output.MAX_WAITING_LINES, 10_000),
    ("| followers of the journal | 16 |", control_api.MAX_FOLLOWERS, 16),
    ("| a file that a fixture names | 16 MiB", fixtures.MAX_FILE_BYTES, 16 * MB),
    ("| YAML of fixtures, snapshots and profiles | 20 levels", documents.DEEPEST, 20),
    ("It has at least 16 characters", plane.MIN_TOKEN, 16),
    ("answers it a second later", plane.SECONDS_FOR_A_WRONG_TOKEN, 1),
    ("take at most 48 MiB", proxy.COPY_BUDGET, 48 * MB),
    ("beyond that 64 KiB of each body", proxied_exchange.BEGINNING, 64 * KB),
    ("Of 200 connections to the deployment", upstream.MAX_CONNECTIONS, 200),
    ("uploads take 150 at most", upstream.MAX_UPLOADS, 150),
    ("for 30 seconds (`--timeout`)", settings.SECONDS_TO_ANSWER, 30),
    ("an answer ends after 1", proxied_exchange.MAX_ANSWER_BYTES, 2**30),
    ("GiB, a head after 64 KiB a line", upstream.MAX_HEADER_LINE, 64 * KB),
]
OTHER_PAGES = [
    ("docs/mock.md", "reported together, 50 of them at most", fixtures.MAX_MISTAKES, 50),
    ("docs/in-front-of-a-deployment.md", "compressed or over 1 MiB", proxy.LONGEST, MB),
    ("docs/testing-a-client.md", "take a minute, five times as long", [runs.MIN_SECONDS, runs.TIMES_AS_LONG], [60, 5]),
    ("docs/testing-a-client.md", "429 for 0.9 seconds", trouble.LIMITED, 0.9),
    ("docs/scale.md", "sorted by their first 200 characters", shared_collection.MAX_SORT_LENGTH, 200),
    ("docs/agents.md", "A result has 6,000 bytes at most", agents.LONGEST, 6000),
    ("docs/agents.md", "stops after five minutes", mcp.MAX_RUN_TIME, "5m"),
    ("docs/agents.md", "a quarter of an hour at most", budget.MAX_CLEANUP, 900),
    ("docs/judging.md", "After two minutes without any success", RunOptions().patience, 120),
    ("docs/judging.md", "sends only 20 requests\n  for clean-up", budget.MAX_AFTER_GONE, 20),
    ("docs/judging.md", "up to five minutes at a time", availability.MAX_WAIT, 300),
    ("docs/judging.md", "the run leave more time between requests, up to two seconds", availability.MAX_INTERVAL, 2),
    ("docs/judging.md", "After five refusals", availability.FEW_LIMITS, 5),
    ("docs/judging.md", "waits up to 30 seconds for that run", other_runs.MAX_WAIT, 30),
    ("docs/judging-reference.md", "`--timeout 30`", RunOptions().timeout, 30),
    (
        "docs/judging-reference.md",
        "clean-up: 10, and 3 for each record",
        [budget.CLEANUP_RESERVE, budget.CLEANUP_PER_RECORD],
        [10, 3],
    ),
    ("docs/judging-reference.md", "come to more than 96 MiB", budget.MAX_ANSWER_BYTES, 96 * MB),
    ("docs/judging-reference.md", "an answer over 16 MiB", connection.MAX_BODY_BYTES, 16 * MB),
    ("docs/judging-reference.md", "for a quarter of an hour at most", budget.MAX_CLEANUP, 900),
    ("docs/ci.md", "ten of each sort at most", ci.MAX_ANNOTATIONS, 10),
]


@pytest.mark.parametrize(
    ("page", "sentence", "value", "promised_value"), [*(("SECURITY.md", *row) for row in SECURITY), *OTHER_PAGES]
)
def test_a_limit_is_what_its_page_says(page: str, sentence: str, value: Any, promised_value: Any) -> None:
    assert sentence in (ROOT / page).read_text("utf-8")
    assert value == promised_value
