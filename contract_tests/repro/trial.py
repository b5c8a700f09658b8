"""Scripts are run once by the run that writes them: none claims to show what was not seen."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from urllib.parse import urlsplit

from contract_tests.target.connection import Connection, is_loopback

BROKEN, FIXED, UNCLEAR = 1, 0, 125  # exit statuses; the last makes `git bisect run` skip a version
MAX_SECONDS, MAX_REQUEST_SECONDS, SECONDS_TO_TIDY = 60.0, 10, 30.0
REQUEST_MARK = "contract-tests-request"
REQUESTS_OF_A_STEP = 8  # at most: its tries, looks whether its record is the script's, and the removal of that


def run_script(text: str, variables: Mapping[str, str], max_seconds: float = MAX_SECONDS) -> tuple[int, int]:
    """Run a script with `sh` and curl; one that takes too long, or is interrupted, is told to tidy up, and ended.

    Args:
        variables: what it takes from its environment, its keys among it.
        max_seconds: how long it may take, beside its tidying up.

    Returns:
        Its exit status, and how many requests it has sent.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    options = f"--max-time {MAX_REQUEST_SECONDS} -w %{{stderr}}{REQUEST_MARK}\\n {variables.get('CURL_OPTIONS', '')}"
    environment = os.environ | variables | {"PATH": path, "CURL_OPTIONS": options}
    with TemporaryFile() as script, TemporaryFile() as errors:
        script.write(text.encode("utf-8", "backslashreplace"))
        script.seek(0)
        process = subprocess.Popen(
            ["/bin/sh"],
            env=environment,
            stdin=script,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            start_new_session=True,
        )
        status = UNCLEAR
        try:
            status = process.wait(max_seconds)
        except subprocess.TimeoutExpired:
            _end(process)
        except BaseException:
            _end(process)
            raise
        errors.seek(0)
        return status, errors.read().count(REQUEST_MARK.encode())


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a script: the request that is under way, and the script itself once it has deleted what it made."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS_TO_TIDY)
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def curl_options(connection: Connection, base_url: str) -> str | None:
    """The options with which curl reaches a target as the run does; None if they cannot be given in words."""
    certificate, key = connection.client_certificate, connection.client_key
    options = {"--cacert": connection.ca_bundle, "--cert": certificate, "--key": key}
    words = [word for name, file in options.items() if file for word in (name, str(file))]
    words += ["-k"] if connection.insecure else []
    words += ["--noproxy", str(urlsplit(base_url).hostname)] if is_loopback(base_url) else []
    has_plain_words = not connection.headers and not any(
        set(" *?[") & set(str(file)) for file in options.values() if file
    )
    return " ".join(words) if has_plain_words else None
