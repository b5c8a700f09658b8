"""The GitHub action: a run as its inputs say, and the verdict as an output.

Inputs come from the environment, so that a shell never interprets them.
"""

import json
import os
import shlex
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from contract_tests.cli import main, parse_run
from contract_tests.errors import UNUSABLE, NothingSelectedError, StoppedError, UsageError
from contract_tests.reports import results
from contract_tests.reports.ci import COMMENT

NO_VERDICT = {UNUSABLE: "unusable"}
BOOLEANS = {"true": True, "false": False, "": False}


def command_line(inputs: Mapping[str, str]) -> list[str]:
    """The command line that the inputs stand for.

    Args:
        inputs: the environment, with `INPUT_BASE_URL`, `INPUT_REPORT_DIR`, `INPUT_WAIVERS`, `INPUT_ALLOW_WRITES` and
            `INPUT_ARGUMENTS`.

    Raises:
        UsageError: if they cannot be read, or the arguments hold an option that has its own input.
    """
    base_url, folder = inputs.get("INPUT_BASE_URL", ""), inputs.get("INPUT_REPORT_DIR", "")
    line = [f"--base-url={base_url}", f"--report-dir={folder}"]
    if inputs.get("INPUT_WAIVERS"):
        line.append(f"--waivers={inputs['INPUT_WAIVERS']}")
    allow_writes = inputs.get("INPUT_ALLOW_WRITES", "").strip().lower()
    if allow_writes not in BOOLEANS:
        raise UsageError(f'the input allow-writes is "{allow_writes}"; give true or false')
    if BOOLEANS[allow_writes]:
        line.append("--allow-writes")
    try:
        extra_arguments = shlex.split(inputs.get("INPUT_ARGUMENTS", ""))
    except ValueError as error:
        raise UsageError(f"the input arguments cannot be read: {error}; quote as in a shell") from error
    input_options, all_options = parse_run(line), parse_run([*line, *extra_arguments])
    for name in ("base_url", "report_dir", "waivers", "allow_writes"):
        if getattr(input_options, name) != getattr(all_options, name):
            raise UsageError(f"the input arguments say --{name.replace('_', '-')}; that is an input of its own")
    if all_options.plan or all_options.watch:
        raise UsageError("the input arguments say --plan or --watch, which judge nothing in a job; leave them out")
    return ["run", *line, *extra_arguments]


def run(inputs: Mapping[str, str]) -> int:
    """Judge as the inputs say, and write the outputs `verdict` and `report-dir`.

    Returns:
        The exit status of the run; 4 if the inputs cannot be read, in which case nothing is sent.
    """
    folder = Path(inputs["INPUT_REPORT_DIR"])
    path = folder / results.FILE
    # Of an earlier run, or committed; a run that does not begin writes none, and without a folder none is a report.
    for earlier in (path, folder / COMMENT) if inputs["INPUT_REPORT_DIR"] else ():
        with suppress(OSError):
            earlier.unlink()
    try:
        line = command_line(inputs)
    except StoppedError as error:
        print(f"::error::contract-tests: {' '.join(str(error).split())}")
        return error.status
    status = main(line)
    if status in (UsageError.status, NothingSelectedError.status):
        print("::error::contract-tests: nothing was judged; the last line of the step's log says what to change")
    verdict = json.loads(path.read_text(encoding="utf-8"))["verdict"] if path.exists() else NO_VERDICT.get(status, "")
    if inputs.get("GITHUB_OUTPUT"):
        with Path(inputs["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as outputs:
            outputs.write(f"verdict={' '.join(verdict.split())}\nreport-dir={' '.join(str(folder).split())}\n")
    return status


if __name__ == "__main__":
    sys.exit(run(os.environ))
