"""The named parts of a form's body, multipart or urlencoded."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple
from urllib.parse import parse_qsl

from multipart import MultipartError, ParserError, ParserLimitReached, PushMultipartParser
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.http import parse_options_header
from werkzeug.sansio.multipart import Data, Epilogue, Event, Field, File, MultipartDecoder, NeedData, State

MAX_PARTS, MAX_HEADERS = 1000, 20  # of a form, and of a part
MAX_HEAD_BYTES, MAX_TEXT_BYTES = 2 * 2**10, 4 * 2**20  # bytes of a part's headers, and of a text
MAX_URLENCODED_BYTES, MAX_PREAMBLE_BYTES = 2**20, 64 * 2**10  # bytes; of a form, and before the first part of one
PIECE = 16 * 2**10  # bytes that are parsed at a time
MAX_UNUSUAL_BYTES = 2**20  # bytes of a form that only the slower of two parsers can read
PARTS_HINT = "send each part whole, between the boundaries that were announced"
PREAMBLE_TOO_LONG = f"it has over {MAX_PREAMBLE_BYTES:,} bytes before the boundary that was announced"
BLANK_LINE = re.compile(rb"\r\n\r\n|\n\n|\r\r")
MAX_NAME_LENGTH = 1000  # of a file and of a media type, in characters


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
    if len(body) > MAX_PREAMBLE_BYTES and body.find(b"--" + boundary.encode(), 0, MAX_PREAMBLE_BYTES) < 0:
        raise MalformedFormError(PREAMBLE_TOO_LONG)
    try:
        return _last(_parse_strictly(body, boundary))
    except MultipartError as error:
        if len(body) > MAX_UNUSUAL_BYTES:  # which would take long
            raise MalformedFormError(f"it cannot be read ({error}); {PARTS_HINT}") from error
        first = rb"--%s(?:--)?[^\S\n\r]*[\r\n]" % re.escape(boundary.encode())
        if len(body) > MAX_PREAMBLE_BYTES and not re.search(first, body[:MAX_PREAMBLE_BYTES]):
            raise MalformedFormError(PREAMBLE_TOO_LONG) from error
        return _last(_parse_leniently(body, boundary))


def urlencoded(body: bytes) -> dict[str, Part]:
    """The last part of each name in an urlencoded body.

    Raises:
        MalformedFormError: if the body is longer than 1 MiB.
        TooManyPartsError: if there are over 1,000 parts.
    """
    if len(body) > MAX_URLENCODED_BYTES:
        raise MalformedFormError(
            f"urlencoded, it may have {MAX_URLENCODED_BYTES:,} bytes; send it as multipart/form-data"
        )
    text = body.decode("utf-8", "replace")
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_PARTS)
    except ValueError as error:
        raise TooManyPartsError(MAX_PARTS) from error
    return _last(Part(name, value) for name, value in pairs)


def _last(parts: Iterable[Part]) -> dict[str, Part]:
    """The last part of each name."""
    parts_by_name: dict[str, Part] = {}
    for part in parts:
        before = parts_by_name.get(part.name)
        parts_by_name[part.name] = replace(part, times=before.times + 1) if before else part
    return parts_by_name


def _parse_strictly(body: bytes, boundary: str) -> Iterator[Part]:
    """The parts of a form as browsers and most libraries write it."""
    parser = PushMultipartParser(boundary, max_header_size=MAX_HEAD_BYTES, max_header_count=MAX_HEADERS)
    head, content, parts, start = PartHead(), b"", 0, b"--" + boundary.encode()
    for event in parser.parse(body):
        if event is None:
            parts += 1
            if parts > MAX_PARTS:
                raise TooManyPartsError(MAX_PARTS)
            yield from _part(head, content)
        elif isinstance(event, bytes):
            if event.startswith(start):
                raise ParserError("A boundary stands at the start of a part")
            content = event
        else:
            if sum(len(name) + len(text) for name, text in event.headerlist) > MAX_HEAD_BYTES:
                raise ParserLimitReached("Maximum segment header length exceeded")
            head, content = PartHead(event.name, event.filename, event.content_type or "text/plain"), b""
            disposition = dict(event.headerlist)["Content-Disposition"]
            if not event.name or "\\" in disposition or "*" in disposition:
                head = _head(event.headerlist)
    parser.close()


def _parse_leniently(body: bytes, boundary: str) -> Iterator[Part]:
    """The parts of a form as some clients write it.

    They use bare line feeds, spaces behind a boundary, or nothing between the head of an empty part and the next one.
    """
    head, content = PartHead(), list[bytes]()
    try:
        for event in _events(MultipartDecoder(boundary.encode(), max_parts=MAX_PARTS), body):
            if isinstance(event, Data):
                content.append(event.data)
                if not event.more_data:
                    yield from _part(head, b"".join(content))
            elif isinstance(event, (Field, File)):
                head, content = _head(event.headers), []
    except RequestEntityTooLarge as error:
        raise TooManyPartsError(MAX_PARTS) from error
    except MalformedFormError:
        raise
    except UnicodeError as error:
        raise MalformedFormError("the headers of a part are not UTF-8") from error
    except ValueError as error:
        reason = "a part has no Content-Disposition" if "Disposition" in str(error) else "it ends too early"
        raise MalformedFormError(f"{reason}; {PARTS_HINT}") from error


def _events(decoder: MultipartDecoder, body: bytes) -> Iterator[Event]:
    """The events of a body, which is parsed in pieces so that the headers of a part are never long."""
    for start in range(0, len(body), PIECE):
        decoder.receive_data(body[start : start + PIECE])
        while True:
            head = decoder.buffer[:MAX_HEAD_BYTES] if decoder.state is State.PART else b""
            if len(head) == MAX_HEAD_BYTES and not BLANK_LINE.search(head):
                raise MalformedFormError(f"the headers of a part are longer than {MAX_HEAD_BYTES:,} bytes")
            if isinstance(event := decoder.next_event(), (NeedData, Epilogue)):
                break
            yield event
        if decoder.state in (State.EPILOGUE, State.COMPLETE):
            return
    decoder.receive_data(None)
    decoder.next_event()  # raises an error, because the body ends too early


class PartHead(NamedTuple):
    """What the headers of a part say: its name, the name of its file, if it is one, and its media type."""

    name: str = ""
    file_name: str | None = None
    media_type: str = ""


def _head(headers: Iterable[tuple[str, str]]) -> PartHead:
    header_list = list(headers)
    if len(header_list) > MAX_HEADERS:
        raise MalformedFormError(f"a part has more than {MAX_HEADERS} headers")
    header_texts = {name.title(): text for name, text in header_list}
    _, options = parse_options_header(header_texts.get("Content-Disposition"))
    if "name" not in options:
        raise MalformedFormError("a part has no name in its Content-Disposition; give it one")
    return PartHead(options["name"], options.get("filename"), header_texts.get("Content-Type", "text/plain"))


def _part(head: PartHead, content: bytes) -> Iterator[Part]:
    """A part, unless it stands for a file that was not chosen."""
    media_type = head.media_type.partition(";")[0].strip().lower()[:MAX_NAME_LENGTH]
    if head.file_name is not None:
        if head.file_name or content:
            yield Part(head.name, content, head.file_name[-MAX_NAME_LENGTH:], media_type)
    elif not media_type.startswith("text/"):
        yield Part(head.name, content, head.name, media_type)
    elif len(content) > MAX_TEXT_BYTES:
        raise MalformedFormError(f'the text "{head.name[:40]}" is longer than {MAX_TEXT_BYTES:,} bytes')
    else:
        yield Part(head.name, content.decode("utf-8", "replace"))
