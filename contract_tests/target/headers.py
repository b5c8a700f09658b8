"""What headers of answers say: where a redirect leads, and how long to wait."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from email.utils import parsedate_to_datetime
from urllib.parse import urljoin, urlsplit

EPOCH = 1e9


def joined(url: str, location: str) -> str:
    """Where a redirect leads from a URL; an empty string if that is nowhere."""
    try:
        return urljoin(url, location)
    except ValueError:  # a location that is no URL leads nowhere
        return ""


def is_safe(url: str, there: str) -> bool:
    """Whether a redirect may receive the key: it leads to the same host, and does not drop TLS."""
    before, after = urlsplit(url), urlsplit(there)
    return before.netloc == after.netloc and after.scheme in (before.scheme, "https")


def seconds_of(said: str) -> float:
    """The seconds to wait, from a header that holds seconds, or a time as a date or Unix time."""
    if re.fullmatch(r"-?\d{1,15}(\.\d{1,15})?", said.strip(), re.ASCII):
        seconds = float(said)
        return seconds - time.time() if seconds > EPOCH else seconds
    with suppress(ValueError, OverflowError):
        return parsedate_to_datetime(said).timestamp() - time.time()
    return 1.0
