"""The named parts of a form's body, multipart or urlencoded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from urllib.parse import parse_qsl

from werkzeug.datastructures import Headers
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.sansio.multipart import Data, Epilogue, Event, Field, File, MultipartDecoder, NeedData, State

MOST_PARTS, MOST_HEADERS = 1000, 20  # of a form, and of a part
LONGEST_HEAD, LONGEST_TEXT = 2 * 2**10, 4 * 2**20  # bytes of a part's headers, and of a text
LONGEST_URLENCODED, LONGEST_PREAMBLE = 2**20, 64 * 2**10  # bytes; of a form, and before the first part of one
PIECE = 16 * 2**10  # bytes that are parsed at a time
BLANK_LINE = re.compile(rb"\r\n\r\n|\n\n|\r\r")
LONGEST_NAME = 1000  # of a file and of a media type, in characters


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a form.

    Attributes:
        content: the text of the part, or the bytes of a file.
        file_name: the name of a file as it was sent, possibly empty; None for text.
        media_type: what the content is labelled as.
        times: how many parts of the form have its name; this is the last.
    """

    name: str
    content: str | bytes
    file_name: str | None = None
    media_type: str = "text/plain"
    times: int = 1

    @property
    def is_unchosen_file(self) -> bool:
        """Whether this is what browsers send for a file field without a chosen file."""
        return self.file_name == "" and not self.content


class MalformedFormError(ValueError):
    """A body is not a valid form; the message says what is wrong and what to do."""


class TooManyPartsError(ValueError):
    """A form has too many parts; the message is how many are allowed."""


def multipart(body: bytes, boundary: str) -> dict[str, Part]:
    """The last part of each name in a multipart body.

    Raises:
        MalformedFormError: if the body is malformed or cut off, or a part has no name.
        TooManyPartsError: if there are over 1,000 parts.
    """
    if not boundary:
        raise MalformedFormError("its Content-Type has no boundary; let your client set that header")
    first = rb"--%s(?:--)?[^\S\n\r]*[\r\n]" % re.escape(boundary.encode())
    if len(body) > LONGEST_PREAMBLE and not re.search(first, body[:LONGEST_PREAMBLE]):
        raise MalformedFormError(f"it has over {LONGEST_PREAMBLE:,} bytes before the boundary that was announced")
    try:
        return _last(part for part in _decoded(body, boundary) if not part.is_unchosen_file)
    except RequestEntityTooLarge as error:
        raise TooManyPartsError(MOST_PARTS) from error
    except MalformedFormError:
        raise
    except UnicodeError as error:
        raise MalformedFormError("the headers of a part are not UTF-8") from error
    except ValueError as error:
        reason = "a part has no Content-Disposition" if "Disposition" in str(error) else "it ends too early"
        raise MalformedFormError(
            f"{reason}; send each part whole, between the boundaries that were announced"
        ) from error


def urlencoded(body: bytes) -> dict[str, Part]:
    """The last part of each name in an urlencoded body.

    Raises:
        MalformedFormError: if the body is longer than 1 MiB.
        TooManyPartsError: if there are over 1,000 parts.
    """
    if len(body) > LONGEST_URLENCODED:
        raise MalformedFormError(
            f"urlencoded, it may have {LONGEST_URLENCODED:,} bytes; send it as multipart/form-data"
        )
    text = body.decode("utf-8", "replace")
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MOST_PARTS)
    except ValueError as error:
        raise TooManyPartsError(MOST_PARTS) from error
    return _last(Part(name, value) for name, value in pairs)


def _last(parts: Iterable[Part]) -> dict[str, Part]:
    """The last part of each name."""
    known: dict[str, Part] = {}
    for part in parts:
        before = known.get(part.name)
        known[part.name] = replace(part, times=before.times + 1) if before else part
    return known


def _decoded(body: bytes, boundary: str) -> Iterator[Part]:
    head: Field | File | None = None
    content: list[bytes] = []
    for event in _events(MultipartDecoder(boundary.encode(), max_parts=MOST_PARTS), body):
        if isinstance(event, (Field, File)):
            head, content = event, []
        elif isinstance(event, Data) and head:
            content.append(event.data)
            if not event.more_data:
                yield _part(head, b"".join(content))


def _events(decoder: MultipartDecoder, body: bytes) -> Iterator[Event]:
    """The events of a body, which is parsed in pieces so that the headers of a part are never long."""
    for start in range(0, len(body), PIECE):
        decoder.receive_data(body[start : start + PIECE])
        while True:
            head = decoder.buffer[:LONGEST_HEAD] if decoder.state is State.PART else b""
            if len(head) == LONGEST_HEAD and not BLANK_LINE.search(head):
                raise MalformedFormError(f"the headers of a part are longer than {LONGEST_HEAD:,} bytes")
            if isinstance(event := decoder.next_event(), (NeedData, Epilogue)):
                break
            yield event
        if decoder.state in (State.EPILOGUE, State.COMPLETE):
            return
    decoder.receive_data(None)
    decoder.next_event()  # raises an error, because the body ends too early


def _part(head: Field | File, content: bytes) -> Part:
    if len(head.headers) > MOST_HEADERS:
        raise MalformedFormError(f"a part has more than {MOST_HEADERS} headers")
    name: str | None = head.name  # None is possible, whatever werkzeug's annotations say
    if name is None:
        raise MalformedFormError("a part has no name in its Content-Disposition; give it one")
    media_type = _media_type(head.headers)
    if isinstance(head, File):
        return Part(name, content, head.filename and head.filename[-LONGEST_NAME:], media_type)
    if not media_type.startswith("text/"):
        return Part(name, content, name, media_type)
    if len(content) > LONGEST_TEXT:
        raise MalformedFormError(f'the text "{name[:40]}" is longer than {LONGEST_TEXT:,} bytes')
    return Part(name, content.decode("utf-8", "replace"))


def _media_type(headers: Headers) -> str:
    return headers.get("Content-Type", "text/plain").partition(";")[0].strip().lower()[:LONGEST_NAME]
