"""Scripts are run once by the run that writes them: none claims to show what was not seen."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from contract_tests.target.connection import Connection, is_loopback

BROKEN, FIXED, UNCLEAR = 1, 0, 125  # exit statuses; the last makes `git bisect run` skip a version
MAX_SECONDS = 60
SECONDS_TO_TIDY = 60
COUNTED = "contract-tests-request"
REQUESTS_OF_A_STEP = 4  # at most: the request itself, looks whether its record is the script's, and its removal


def run_script(text: str, variables: Mapping[str, str]) -> tuple[int, int]:
    """Run a script with `sh` and curl.

    Args:
        variables: what it takes from its environment, its keys among it.

    Returns:
        Its exit status, and how many requests it has sent.
    """
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    options = f"-w %{{stderr}}{COUNTED}\\n {variables.get('CURL_OPTIONS', '')}"
    environment = os.environ | variables | {"PATH": path, "CURL_OPTIONS": options}
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    with subprocess.Popen(["/bin/sh"], env=environment, **streams) as process:  # type: ignore[call-overload]
        try:
            _, errors = process.communicate(text.encode("utf-8", "backslashreplace"), MAX_SECONDS)
        except subprocess.TimeoutExpired:
            process.terminate()  # it deletes what it made
            _, errors = process.communicate(timeout=SECONDS_TO_TIDY)
    return process.returncode, errors.count(COUNTED.encode())


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
