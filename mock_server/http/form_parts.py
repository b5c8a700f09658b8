"""The named parts of a form's body, multipart or urlencoded."""

import quopri
import re
from base64 import b64decode
from codecs import lookup
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
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
UTF_8, CODING = "utf-8", "Content-Transfer-Encoding"
CHARSETS = re.compile(
    r"utf-?8|utf-16(le|be)?|(us-)?ascii|latin-?1|iso[-_]?8859-([1-9]|1[0-6])|(windows-|cp)(125\d|874)|koi8-[ru]|macintosh"
    r"|gbk|gb2312|gb18030|big5|shift_jis|euc-(jp|kr)|iso-2022-jp",
    re.IGNORECASE,
)
CHARSET_FIELD = "_charset_"
URLENCODED_CHARSET_FIELD = re.compile(rb"(?:^|&)_charset_=([\w.:+-]{1,40})(?:&|$)")
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


def multipart(body: bytes, boundary: str, charset: str = UTF_8) -> dict[str, Part]:
    """The last part of each name in a multipart body.

    Texts are decoded by the charset of their part, or the form's own `_charset_` (RFC 7578, 4.5 and 4.6).

    Args:
        charset: of texts that do not say theirs.

    Raises:
        MalformedFormError: if the body is malformed or cut off, or a part has no name.
        TooManyPartsError: if there are over 1,000 parts.
    """
    if not boundary:
        raise MalformedFormError("its Content-Type has no boundary; let your client set that header")
    if len(body) > MAX_PREAMBLE_BYTES and body.find(b"--" + boundary.encode(), 0, MAX_PREAMBLE_BYTES) < 0:
        raise MalformedFormError(PREAMBLE_TOO_LONG)
    try:
        parts = _last(_parse_strictly(body, boundary, charset))
    except MultipartError as error:
        if len(body) > MAX_UNUSUAL_BYTES:  # which would take long
            raise MalformedFormError(f"it cannot be read ({error}); {PARTS_HINT}") from error
        first = rb"--%s(?:--)?[^\S\n\r]*[\r\n]" % re.escape(boundary.encode())
        if len(body) > MAX_PREAMBLE_BYTES and not re.search(first, body[:MAX_PREAMBLE_BYTES]):
            raise MalformedFormError(PREAMBLE_TOO_LONG) from error
        parts = _last(_parse_leniently(body, boundary, charset))
    declared = parts[CHARSET_FIELD].content if CHARSET_FIELD in parts and charset == UTF_8 else ""
    is_another_charset = isinstance(declared, str) and declared.strip().lower() not in ("", UTF_8)
    return multipart(body, boundary, str(declared).strip()) if is_another_charset else parts


def urlencoded(body: bytes, charset: str = "") -> dict[str, Part]:
    """The last part of each name in an urlencoded body.

    Args:
        charset: of its values, if its media type says that; else its field `_charset_` may.

    Raises:
        MalformedFormError: if the body is longer than 1 MiB.
        TooManyPartsError: if there are over 1,000 parts.
    """
    if len(body) > MAX_URLENCODED_BYTES:
        raise MalformedFormError(
            f"urlencoded, it may have {MAX_URLENCODED_BYTES:,} bytes; send it as multipart/form-data"
        )
    declared = URLENCODED_CHARSET_FIELD.search(body)
    charset = _checked_charset(charset or (declared[1].decode() if declared else UTF_8))
    if charset.startswith("utf-16"):
        raise MalformedFormError("an urlencoded form is written in ASCII; send UTF-8")
    text = body.decode(charset, "replace")
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_PARTS, encoding=charset)
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


def _checked_charset(charset: str) -> str:
    """A charset that browsers know (WHATWG, Encoding).

    Raises:
        MalformedFormError: if it is none.
    """
    name = charset.lower().replace("windows-874", "cp874")  # as Python calls it
    try:
        if CHARSETS.fullmatch(name):
            return lookup(name).name
    except LookupError:
        pass
    raise MalformedFormError(f'the charset "{charset[:40]}" is unknown; send UTF-8')


def _parse_strictly(body: bytes, boundary: str, charset: str) -> Iterator[Part]:
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
            if sum(map(len, chain.from_iterable(event.headerlist))) > MAX_HEAD_BYTES:
                raise ParserLimitReached("Maximum segment header length exceeded")
            head, content = PartHead(event.name, event.filename, event.content_type or "text/plain", charset), b""
            headers = dict(event.headerlist)
            disposition, is_unusual = headers["Content-Disposition"], ";" in headers.get("Content-Type", "")
            if not event.name or "\\" in disposition or "*" in disposition or is_unusual or CODING in headers:
                head = _head(event.headerlist, charset)
    parser.close()


def _parse_leniently(body: bytes, boundary: str, charset: str) -> Iterator[Part]:
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
                head, content = _head(event.headers, charset), []
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
    """What the headers of a part say: its name, the name of its file, if it is one, and how its content is written."""

    name: str = ""
    file_name: str | None = None
    media_type: str = ""
    charset: str = "utf-8"
    coding: str = ""


def _head(headers: Iterable[tuple[str, str]], charset: str) -> PartHead:
    header_list = list(headers)
    if len(header_list) > MAX_HEADERS:
        raise MalformedFormError(f"a part has more than {MAX_HEADERS} headers")
    header_texts = {name.title(): text for name, text in header_list}
    _, options = parse_options_header(header_texts.get("Content-Disposition"))
    if "name" not in options:
        raise MalformedFormError("a part has no name in its Content-Disposition; give it one")
    media_type, parameters = parse_options_header(header_texts.get("Content-Type", "text/plain"))
    coding = header_texts.get(CODING, "").strip().lower()
    charset = parameters.get("charset", charset)
    return PartHead(options["name"], options.get("filename"), media_type or "text/plain", charset, coding)


def _part(head: PartHead, content: bytes) -> Iterator[Part]:
    """A part, unless it stands for a file that was not chosen."""
    if head.coding:
        content = _decoded(head, content)
    media_type = head.media_type.partition(";")[0].strip().lower()[:MAX_NAME_LENGTH]
    if head.file_name is not None:
        if head.file_name or content:
            yield Part(head.name, content, head.file_name[-MAX_NAME_LENGTH:], media_type)
    elif not media_type.startswith("text/"):
        yield Part(head.name, content, head.name, media_type)
    elif len(content) > MAX_TEXT_BYTES:
        raise MalformedFormError(f'the text "{head.name[:40]}" is longer than {MAX_TEXT_BYTES:,} bytes')
    else:
        charset = UTF_8 if head.charset == UTF_8 else _checked_charset(head.charset)
        yield Part(head.name, content.decode(charset, "replace"))


def _decoded(head: PartHead, content: bytes) -> bytes:
    """The content of a part without its transfer encoding (RFC 2045, 6), which old mail libraries still add."""
    try:
        match head.coding:
            case "base64":
                return b64decode(b"".join(content.split()), validate=True)
            case "quoted-printable":
                return quopri.decodestring(content)
            case "7bit" | "8bit" | "binary":
                return content
    except ValueError as error:
        raise MalformedFormError(f'the part "{head.name[:40]}" is not {head.coding}, although it says so') from error
    raise MalformedFormError(f'the {CODING} "{head.coding[:40]}" is unknown; leave that header out')
