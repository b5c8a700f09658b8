"""Forms as multipart bodies, in the shapes in which common clients send them (RFC 7578, RFC 2046)."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

BOUNDARY = "contract-tests-boundary-7f3a"


@dataclass(frozen=True)
class FormStyle:
    """How a form is written.

    Attributes:
        client: a client that sends forms like this.
        quoted: whether the boundary is quoted in the media type, as one with certain punctuation must be.
        files_first: whether files stand before texts.
        headers: further lines in the head of each text part; `LENGTH` becomes its length.
        file_name: the name of each file, if not the field's own; an empty one means that no file was chosen.
        end: what follows the last boundary.
        chunked: whether it comes in chunks, without a length before it (RFC 9112, 7.1).
    """

    client: str
    boundary: str = BOUNDARY
    quoted: bool = False
    files_first: bool = False
    headers: tuple[str, ...] = ()
    file_name: str | None = None
    end: str = "\r\n"
    chunked: bool = False


USUAL = FormStyle("this suite")
FORM_STYLES = (
    FormStyle(
        "a browser",
        "----WebKitFormBoundary7MA4YWxkTrZu0gW",
        files_first=True,
        file_name="Größe %221%22 (2).png",
    ),
    FormStyle("curl", "------------------------d74496d66958873eXyZ012"),
    FormStyle("Go", "5f1a8c3e7b9d2460f1e3c5a79b8d6e4f0123456789abcdef0123456789ab"),
    FormStyle(
        "Java's mail library",
        "----=_Part_0_1163531159.1286877045",
        quoted=True,
        headers=("Content-Type: text/plain; charset=UTF-8", "Content-Transfer-Encoding: 8bit"),
    ),
    FormStyle("OkHttp", "3f2b8c1e-7d94-4a6b-9c0d-5e1f2a3b4c5d", headers=("Content-Length: LENGTH",)),
    FormStyle("undici", "----formdata-undici-061840329715", files_first=True, end=""),
)
UNUSUAL = (  # shapes that RFC 2046 allows and no client is known to send
    FormStyle("only RFC 2046 allows the comma in its boundary; no client", "contract,tests,7f3a", quoted=True),
    FormStyle("only RFC 2046 allows a boundary of 70 characters; no client", "----=_+." + "b" * 62, quoted=True),
)
STREAMED = FormStyle("a client that does not know its length beforehand", chunked=True)
NOTHING_CHOSEN = FormStyle("a browser in which no file was chosen", file_name="", files_first=True)


def encode(form: Mapping[str, str | tuple[str, bytes, str]], style: FormStyle = USUAL) -> tuple[bytes, str]:
    fields = sorted(form.items(), key=lambda field: isinstance(field[1], str)) if style.files_first else form.items()
    parts = [b"--%b\r\n%b\r\n" % (style.boundary.encode(), _part(name, value, style)) for name, value in fields]
    return b"".join(parts) + f"--{style.boundary}--{style.end}".encode(), media_type_of(style)


def media_type_of(style: FormStyle) -> str:
    boundary = f'"{style.boundary}"' if style.quoted else style.boundary
    return f"multipart/form-data; boundary={boundary}"


def file_as_sent(file: tuple[str, bytes, str], style: FormStyle) -> tuple[str, bytes, str]:
    """The name, content and media type of a file in a form of this style; nothing, in that of an empty input."""
    name, content, media_type = file
    if style.file_name == "":
        return "", b"", "application/octet-stream"
    return style.file_name or name, content, media_type


def _part(name: str, value: str | tuple[str, bytes, str], style: FormStyle) -> bytes:
    content = value.encode() if isinstance(value, str) else file_as_sent(value, style)[1]
    head = "\r\n".join(_head(name, value, style)).replace("LENGTH", str(len(content)))
    return b"%b\r\n\r\n%b" % (head.encode(), content)


def _head(name: str, value: str | tuple[str, bytes, str], style: FormStyle) -> Iterator[str]:
    disposition = f'Content-Disposition: form-data; name="{name}"'
    if isinstance(value, str):
        yield disposition
        yield from style.headers
        return
    file_name, _, media_type = file_as_sent(value, style)
    yield f'{disposition}; filename="{file_name}"'
    yield f"Content-Type: {media_type}"
