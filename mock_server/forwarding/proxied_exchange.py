"""One request on its way through to the deployment, and its answer back, with bounded copies for the journal."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from time import perf_counter
from wsgiref.types import WSGIEnvironment

from mock_server.http import messages
from mock_server.http.context import context_of
from mock_server.http.gateway import Receive, Send, client_gone
from mock_server.http.messages import Message, has_body
from mock_server.journal.journal import Head

BEGINNING = 64 * 2**10  # bytes


@dataclass
class CopyBudget:
    """How many more bytes all copies together may take."""

    left: int


class Copy:
    """What is kept of one body.

    Args:
        budget: what all copies share.
        longest: how many bytes of one body are kept whole.

    Attributes:
        byte_count: how many bytes of the body have passed.
        is_complete: whether all of them are kept.
    """

    def __init__(self, budget: CopyBudget, longest: int) -> None:
        self._budget, self._longest = budget, longest
        self._content = bytearray()
        self._reserved = self.byte_count = 0
        self.is_complete = True

    @property
    def content(self) -> bytes:
        return bytes(self._content)

    def add(self, part: bytes) -> None:
        """Keep a part of the body that passes."""
        self.byte_count += len(part)
        if not self.is_complete:
            return
        if self.byte_count <= self._longest and len(part) <= self._budget.left:
            self._budget.left -= len(part)
            self._reserved += len(part)
            self._content += part
        else:
            self.is_complete = False
            self._content = (self._content + part)[:BEGINNING]
            self.release()

    def release(self) -> None:
        """Give the room back."""
        self._budget.left += self._reserved
        self._reserved = 0


MAX_REQUEST_COPY, MAX_ANSWER_COPY = 16 * 2**20, 4 * 2**20  # bytes of one body that are kept whole
MAX_ANSWER_BYTES = 2**30  # bytes of an answer; one that is longer never ends
PARTS_BEFORE_WATCHING = 16
SHORT_BODY = 64 * 2**10  # bytes of a body that is sent in one piece
CLIENT_GONE = "the client went away"
CUT_SHORT = "The body was cut off; send it whole."


class SlowClientError(Exception):
    """The client does not take or send what it should in time, or has gone."""


class ProxiedExchange:
    """A request on its way, and what is kept of it.

    Args:
        environ: the request.
        receive: gives the parts of its body.
        send: takes the parts of its answer.
        budget: where copies of bodies are kept.

    Attributes:
        head: the head of the answer, as the deployment sent it.
        request_copy: a copy of the body of the request.
        answered: a copy of the body of the answer.
        is_begun: whether the client has been sent the beginning of an answer.
        is_kept: whether the journal has it.
        pieces: how many parts of the answer the client was sent.
        is_received: whether the request has come whole.
        trouble: why the request did not come whole, or an empty string.
    """

    def __init__(self, environ: WSGIEnvironment, receive: Receive, send: Send, budget: CopyBudget) -> None:
        self.environ, self.context = environ, context_of(environ)
        self._receive, self._send = receive, send
        self.head, self.request_copy, self.answered = (
            Head(),
            Copy(budget, MAX_REQUEST_COPY),
            Copy(budget, MAX_ANSWER_COPY),
        )
        self.is_begun = self.is_kept = False
        self.is_received = True
        self._parts = 0
        self.trouble = ""
        self._started = perf_counter()
        self._patience = messages.SECONDS_FOR_A_BODY
        self.pieces = 0
        self._client_gone: asyncio.Task[None] | None = None

    @property
    def milliseconds(self) -> float:
        """Since the request came."""
        return (perf_counter() - self._started) * 1000

    async def body(self) -> AsyncIterator[bytes] | bytes | None:
        """The request's body: whole if it is short, or its parts as they come; None if it has none.

        Either way it takes no connection to the deployment before its first 64 KiB have come.

        Raises:
            SlowClientError: if that much does not come in time.
        """
        if not has_body(self.environ):
            return None
        parts, beginning = self._body(), bytearray()
        async for part in parts:
            beginning += part
            if len(beginning) > SHORT_BODY:
                break
        is_in_one_piece = (
            self.is_received and "CONTENT_LENGTH" in self.environ
        )  # what comes in chunks goes on in chunks
        return bytes(beginning) if is_in_one_piece else chain_parts([bytes(beginning)] if beginning else [], parts)

    async def _body(self) -> AsyncIterator[bytes]:
        self.is_received = False
        has_more, patience, clock = True, messages.SECONDS_FOR_A_BODY, asyncio.get_running_loop().time
        while has_more:
            before = clock()
            try:
                async with asyncio.timeout(min(patience, messages.SECONDS_FOR_A_BODY)):
                    message = await self._receive()
            except TimeoutError:
                self.trouble = f"The body did not come; send it within {messages.SECONDS_FOR_A_BODY:g} seconds."
                raise SlowClientError(self.trouble) from None
            if message["type"] == "http.disconnect":
                self.trouble = CUT_SHORT
                raise SlowClientError(self.trouble)
            part, has_more = message.get("body", b""), message.get("more_body", False)
            patience += len(part) / messages.MIN_BYTES_PER_SECOND - (clock() - before)
            self.request_copy.add(part)
            if part:
                yield part
        self.is_received = True

    async def coming(self, parts: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """The parts of the answer's body as they come, each of which is copied.

        Raises:
            SlowClientError: if the client has gone, or nobody could want so long an answer.
        """
        async for part in parts:
            self.answered.add(part)
            self._parts += 1
            if self._parts > PARTS_BEFORE_WATCHING and self.is_received and not self._client_gone:
                self._client_gone = asyncio.create_task(client_gone(self._receive))
            if self._client_gone and self._client_gone.done():
                raise SlowClientError(CLIENT_GONE)
            if self.answered.byte_count > MAX_ANSWER_BYTES:
                raise SlowClientError(f"longer than {MAX_ANSWER_BYTES >> 20} MiB")
            yield part

    async def start_answer(self, start: Message) -> None:
        self.is_begun = True
        await self._send(start)

    async def hand(self, part: bytes, *, has_more: bool = True) -> None:
        """Send a part of the answer's body.

        Raises:
            SlowClientError: if the client is too slow.
        """
        self.pieces += 1
        message = {"type": "http.response.body", "body": part, "more_body": has_more}
        if self.pieces == 1 and len(part) <= SHORT_BODY:  # what is sent first waits for no reader
            return await self._send(message)
        clock = asyncio.get_running_loop().time
        before = clock()
        try:
            async with asyncio.timeout(min(self._patience, messages.SECONDS_FOR_A_BODY)):
                await self._send(message)
        except TimeoutError:
            raise SlowClientError("the client did not read the answer") from None
        self._patience += len(part) / messages.MIN_BYTES_PER_SECOND - (clock() - before)
        return None

    def end(self) -> None:
        """Give back what the passage took."""
        self.request_copy.release()
        self.answered.release()
        if self._client_gone:
            self._client_gone.cancel()


async def chain_parts(parts: list[bytes], remaining_parts: AsyncIterator[bytes] | None = None) -> AsyncIterator[bytes]:
    """The parts of a body that have come already, and then the rest as it comes."""
    for part in parts:
        yield part
    if remaining_parts:
        async for part in remaining_parts:
            yield part
