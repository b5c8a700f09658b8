"""A connection in whose place a function answers, so that a target needs no socket."""

from collections.abc import Callable
from typing import Any

from urllib3 import HTTPResponse

from contract_tests.target.connection import Connection


class Answered(Connection):
    """Answers each request by a function, which gets what urllib3 would.

    Args:
        request: takes a method, a URL and, by name, body and headers.
    """

    def __init__(self, request: Callable[..., HTTPResponse]) -> None:
        super().__init__()
        object.__setattr__(self, "request", request)

    def pool(self, *_: object) -> Any:
        """Itself, in place of connections."""
        return self

    def clear(self) -> None:
        """There is nothing to close."""
