"""HTTP archives (HAR): a run's exchanges written, and exchanges recorded elsewhere read."""

import gzip
import json
import shutil
import zlib
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from http import HTTPStatus
from io import BytesIO
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit
from zipfile import BadZipFile, ZipFile

import harfile

from contract_tests.errors import UsageError
from contract_tests.evidence.exchange import OWN_KEY, REJECTED, Exchange, Expect, Request, id_of, integer
from contract_tests.evidence.masking import HIDDEN_NAMES
from contract_tests.evidence.multipart import file_as_sent, media_type_of
from contract_tests.target.connection import MAX_BODY_BYTES
from contract_tests.verdicts.verdicts import Outcome
from link_management_contract import Contract, Resource

UNREADABLE = (ValueError, RuntimeError, KeyError, BadZipFile, zlib.error, EOFError)  # what damaged files lead to
ZIP_MAGIC = b"PK\x03\x04"
GZIP_OR_ZLIB, RAW_DEFLATE = zlib.MAX_WBITS | 32, -zlib.MAX_WBITS
HTTP, FILE = "HTTP/1.1", "record.har"
JUDGED_MEMBER = "judged"  # the member of an entry's comment that is false for what no rule judges
LONGEST = 10 << 20  # bytes of a file that servers of CI take as it is; a longer one is compressed
MAX_DECOMPRESSED = 1 << 30  # bytes of one that was compressed
MAGIC = b"\x1f\x8b"
ON_A_RECORD = {"GET": "read", "POST": "update", "DELETE": "delete"}


@dataclass(frozen=True)
class Recording:
    """What a file holds.

    Attributes:
        base_url: where most of the recognised requests were sent.
        skip_counts: why others were left out, with a count for each reason.
    """

    base_url: str
    exchanges: tuple[Exchange, ...]
    count: int
    skip_counts: Mapping[str, int] = field(default_factory=dict)


def read(path: Path, contract: Contract, base_url: str | None = None) -> Recording:
    """Read a HAR file.

    Args:
        base_url: which service to judge if the file holds several; None for that of most requests.

    Raises:
        UsageError: if it cannot be read, or is not a HAR file.
    """
    pairs: list[tuple[str, Exchange]] = []
    skip_counts: Counter[str] = Counter()
    unjudged_count = 0
    entries = _entries(path)
    for number, entry in enumerate(entries, 1):
        try:
            recognised = _recognised(contract, entry, number)
            cut_short = recognised is not None and _is_cut_short(entry, recognised[1])
        except _UnreadableError as error:
            skip_counts[str(error)] += 1
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            skip_counts[f"no exchange that can be read (the first is entry {number}: {type(error).__name__})"] += 1
        else:
            if _is_unjudged(entry):
                unjudged_count += 1
            elif recognised is None:
                skip_counts["to no list, record or create of this API"] += 1
            elif cut_short:
                skip_counts["without the body of its answer; record it with bodies"] += 1
            else:
                pairs.append(recognised)
    service = _service(base_url) if base_url else _most_frequent(_service(base) for base, _ in pairs)
    chosen_url = base_url or _most_frequent(base for base, _ in pairs if _service(base) == service)
    exchanges = tuple(exchange for base, exchange in pairs if _service(base) == service)
    other_urls = Counter(base for base, _ in pairs if _service(base) != service)
    skip_counts.update({f"to {base}, which --base-url chooses": count for base, count in other_urls.items()})
    return Recording(
        chosen_url, _with_refusals(exchanges, contract), len(entries) - unjudged_count, _merge_reasons(skip_counts)
    )


def _most_frequent(texts: Iterable[str]) -> str:
    return max(Counter(texts).most_common(1), default=("", 0))[0]


def _service(base_url: str) -> str:
    """A base URL in one spelling: its host in small letters, and without the usual port."""
    parts = urlsplit(base_url)
    try:
        port = "" if parts.port in (None, {"http": 80, "https": 443}.get(parts.scheme)) else f":{parts.port}"
    except ValueError:  # a port that there is not
        return base_url
    return f"{parts.scheme}://{parts.hostname}{port}{parts.path}"


def _is_unjudged(entry: dict[str, Any]) -> bool:
    """Whether a run has kept an exchange that no rule judges: a try before the one that counts, or a witness."""
    return _comment(entry).get(JUDGED_MEMBER) is False


class _UnreadableError(ValueError):
    """An entry cannot be read, for a reason that others share."""


def _merge_reasons(skip_counts: Counter[str]) -> dict[str, int]:
    """The reasons with their counts; of entries that cannot be read at all, only the first is named."""
    merged_counts: Counter[str] = Counter()
    first: dict[str, str] = {}
    for reason, count in skip_counts.items():
        merged_counts[first.setdefault(reason.partition(" (the first")[0], reason)] += count
    return dict(merged_counts)


def _entries(path: Path) -> list[Any]:
    """The entries of a file, or of the one in a ZIP archive, as Playwright writes it; with bodies kept beside it."""
    problem = "it is not UTF-8 text"
    try:
        content, attached = path.read_bytes(), partial(_attached_file, path.parent)
        if content.startswith(ZIP_MAGIC):
            problem = "it is a ZIP archive without a .har file"
            archive = ZipFile(BytesIO(content))
            content = _member(archive, next(name for name in archive.namelist() if name.endswith(".har")))
            attached = partial(_member, archive, limit=MAX_BODY_BYTES)
            problem = "it is not UTF-8 text"
        text = _decompress_file(content).decode("utf-8-sig")
        problem = "it is not JSON"
        document = json.loads(text)
        problem = "it has no list log.entries"
        entries: list[Any] = document["log"]["entries"]
        if not isinstance(entries, list):
            raise TypeError(entries)  # noqa: TRY301 - as where there is no log
        for entry in entries:
            _attach_body(entry, attached)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except (*UNREADABLE, TypeError, StopIteration) as error:
        raise UsageError(f"{path} is not an HTTP archive (HAR): {problem}") from error
    return entries


def _attach_body(entry: Any, attached: Callable[[str], bytes]) -> None:
    """Put a body that is kept in a file of its own where others are; one that is not there is as if it was left out."""
    with suppress(*UNREADABLE, AttributeError, TypeError, OSError):
        content = entry["response"]["content"]
        if "text" not in content and content.get("_file"):
            content |= {"text": b64encode(attached(str(content["_file"]))).decode(), "encoding": "base64"}


def _attached_file(folder: Path, name: str) -> bytes:
    path = folder / Path(name).name
    if not path.is_file():
        raise FileNotFoundError(path)
    with path.open("rb") as file:
        return file.read(MAX_BODY_BYTES)


def _member(archive: ZipFile, name: str, limit: int = MAX_DECOMPRESSED) -> bytes:
    with archive.open(name) as member:
        return member.read(limit)


def judged_as_documented(exchange: Exchange, resource: Resource) -> Exchange:
    """An exchange, treated as documented if its answer shows that the request was carried out.

    Anything else that is wrong or missing in the answer does not matter here, as the rules judge that.
    """
    success_checks = {"list": _is_list, "read": _is_read, "create": _is_written, "update": _is_written}
    carried_out = success_checks.get(exchange.request.operation)
    if carried_out and exchange.is_accepted and carried_out(exchange, resource):
        return replace(exchange, judged_as=Expect.SUCCESS)
    return exchange


def _is_list(exchange: Exchange, resource: Resource) -> bool:
    """Whether a list with documented parameters was answered with one; a page past the end may be anything."""
    number, page = _documented_page(exchange, resource), exchange.page
    if number is None:
        return False
    if number == 1 or exchange.json is None:
        return exchange.json is not None or b'"data"' in exchange.body
    return page is not None and (page.exists or (page.total is None and bool(page.rows)))


def _documented_page(exchange: Exchange, resource: Resource) -> int | None:
    """The page that a list asks for, if all its parameters are documented ones."""
    params = exchange.request.params
    sizes, number = map(str, resource.page_sizes), params.get("page", "1")
    is_valid = params.keys() <= {"page", "results_per_page"} and params.get("results_per_page", "25") in {*sizes, "25"}
    return integer(number) if is_valid and number.isascii() and number.isdecimal() and integer(number) > 0 else None


def _is_read(exchange: Exchange, _: Resource) -> bool:
    """Whether a read shows the record that was asked for, wherever in the answer."""
    body, sought_id = exchange.json, exchange.request.identifier
    if body is None:
        return b'"data"' in exchange.body
    data = body.get("data") if isinstance(body, dict) else body
    candidates = [body, data, *(data if isinstance(data, list) else [])]
    return sought_id is not None and any(id_of(candidate) == sought_id for candidate in candidates)


def _is_written(exchange: Exchange, _: Resource) -> bool:
    """Whether a create or update was carried out, as shown by an id anywhere or, for a create, by the success alone."""
    body = exchange.json
    creates = exchange.request.operation == "create"
    if body is None:
        return b'"id"' in exchange.body or (creates and not exchange.body.strip())
    data = body.get("data") if isinstance(body, dict) else None
    has_id = any(isinstance(part, dict) and "id" in part for part in (body, data))
    return has_id or (creates and exchange.status == HTTPStatus.CREATED)


def _with_refusals(exchanges: tuple[Exchange, ...], contract: Contract) -> tuple[Exchange, ...]:
    """The exchanges, treating rejected lists of the first page as documented if the key is good."""
    if not any(entry.succeeded and entry.request.identity == OWN_KEY for entry in exchanges):
        return exchanges

    def is_rejected(entry: Exchange) -> bool:
        resource = contract.resources[entry.request.resource]
        lists_collection = entry.request.path == resource.list_path and entry.expects is Expect.OPEN
        return lists_collection and entry.status in REJECTED and _documented_page(entry, resource) == 1

    return tuple(replace(entry, judged_as=Expect.SUCCESS) if is_rejected(entry) else entry for entry in exchanges)


def _decompress_file(content: bytes) -> bytes:
    """The content of a file, decompressed if need be."""
    if not content.startswith(MAGIC):
        return content
    try:
        decompressed = zlib.decompressobj(GZIP_OR_ZLIB).decompress(content, MAX_DECOMPRESSED + 1)
    except zlib.error as error:
        raise ValueError(error) from error
    if len(decompressed) > MAX_DECOMPRESSED:
        raise ValueError(len(decompressed))
    return decompressed


def _is_cut_short(entry: dict[str, Any], exchange: Exchange) -> bool:
    """Whether a body was not recorded, or not all of it: browsers keep so much at most, proxies none if asked to."""
    content = entry["response"].get("content") or {}
    size = content.get("size", 0)
    is_left_out = "text" not in content and size > 0
    return is_left_out or (exchange.json is None and 0 < len(exchange.body) < size)


def request_at(contract: Contract, method: str, url: str) -> tuple[str, Resource, Request] | None:
    """The base URL, resource and request that a method and URL stand for, or None if the contract has none."""
    parts = urlsplit(url)
    prefix, slash, path = parts.path.rpartition("/api/")
    base_url = f"{parts.scheme}://{parts.netloc}{prefix}"
    for resource in contract.resources.values() if slash and parts.netloc else ():
        operation, identifier = _operation(resource, method, f"/api/{path}")
        if operation:
            query = tuple(parse_qsl(parts.query, keep_blank_values=True))
            request = Request(operation, resource.name, method, f"/api/{path}", query, None, OWN_KEY, identifier)
            return base_url, resource, request
    return None


def _operation(resource: Resource, method: str, path: str) -> tuple[str, int | None]:
    """The operation on a resource and the id in its path; an empty operation if there is none."""
    last = path.removeprefix(resource.record_path)
    if path.startswith(resource.record_path) and last.removeprefix("-").isdecimal():
        return ON_A_RECORD.get(method, ""), int(last)
    if method == "GET" and path.rstrip("/") == resource.list_path.rstrip("/"):  # page links have no slash at the end
        return "list", None
    if method == "GET" and path == f"/api/{resource.link_collection}":
        return "follow", None
    if method == "POST" and path == resource.create_path:
        return "create", None
    return "", None


def _recognised(contract: Contract, entry: dict[str, Any], number: int) -> tuple[str, Exchange] | None:
    """An entry's base URL and exchange, if it is one of this API's; what was accepted counts as documented."""
    request, response = entry["request"], entry["response"]
    request["url"].encode()  # raises an error if it has half a surrogate pair
    recognised = request_at(contract, request["method"].upper(), request["url"])
    if recognised is None:
        return None
    base_url, resource, api_request = recognised
    comment = _comment(entry)
    is_annotated = comment.get("expects") in set(Expect)
    expects = Expect(comment["expects"]) if is_annotated else Expect.OPEN
    query = tuple((name, "[hidden]" if HIDDEN_NAMES.search(name.lower()) else text) for name, text in api_request.query)
    identity = str(comment.get("identity", OWN_KEY))
    api_request = replace(api_request, identity=identity, expects=expects, query=query)
    headers = {header["name"]: header["value"] for header in response["headers"]}
    status = response["status"] or None
    if not isinstance(status, int | None) or not all(isinstance(value, str) for value in headers.values()):
        raise TypeError(status)
    body = _body(response.get("content") or {}, {name.casefold(): value for name, value in headers.items()})
    exchange = Exchange(api_request, number, status, headers, body)
    return base_url, exchange if comment else judged_as_documented(exchange, resource)


def _comment(entry: dict[str, Any]) -> dict[str, Any]:
    with suppress(ValueError):
        comment = json.loads(entry.get("comment") or "null")
        return comment if isinstance(comment, dict) else {}
    return {}


def _body(content: dict[str, Any], headers: Mapping[str, str]) -> bytes:
    """The body of an answer, decoded from base64 and decompressed."""
    text = content.get("text") or ""
    if content.get("encoding") != "base64":
        return str(text).encode()
    try:
        body = b64decode("".join(text.split()), validate=True)
    except Base64Error as error:
        raise _UnreadableError("with a body that is not base64") from error
    encoding = headers.get("content-encoding", "").strip().casefold()
    if encoding in ("gzip", "x-gzip", "deflate") and body.lstrip()[:1] not in (b"{", b"["):
        return _decompressed(body)
    if encoding not in ("", "identity") and "\ufffd" in body.decode(errors="replace"):  # it is not text
        raise _UnreadableError(f"with a body that is compressed in a way that is not read here ({encoding[:20]})")
    return body


def _decompressed(body: bytes) -> bytes:
    for form in (GZIP_OR_ZLIB, RAW_DEFLATE):
        stream = zlib.decompressobj(form)
        with suppress(zlib.error):
            decompressed = stream.decompress(body, MAX_BODY_BYTES)
            if stream.eof:
                return decompressed
    raise _UnreadableError("with a body that cannot be decompressed")


def write(outcome: Outcome, path: Path) -> Path:
    """Write the file, with all that was sent; each entry's comment holds, as JSON, what the run knew about the request.

    Returns:
        Where it is: if it is long, it is compressed, and its name ends with `.gz`.

    Raises:
        OSError: if it cannot be written.
    """
    masking_note = "Keys are hidden; of records that the run did not create, texts keep their shape alone."
    comment = f"Verdict: {outcome.verdict}. {masking_note}"
    with harfile.HarFile.open(path, comment=comment) as har:
        judged_numbers = {exchange.number for exchange in outcome.exchanges}
        every_exchange = sorted((*outcome.exchanges, *outcome.tries), key=lambda exchange: exchange.number)
        for exchange in map(outcome.masking.exchange, every_exchange):
            annotation = {"identity": exchange.request.identity, "expects": exchange.expects, "error": exchange.error}
            milliseconds = round(exchange.seconds * 1000, 3)
            har.add_entry(
                startedDateTime=datetime.fromtimestamp(exchange.started_at, UTC),
                time=milliseconds,
                request=_request(outcome.base_url, exchange),
                response=_response(exchange),
                timings=harfile.Timings(send=0, wait=milliseconds, receive=0),
                comment=json.dumps(annotation | ({} if exchange.number in judged_numbers else {JUDGED_MEMBER: False})),
            )
    compressed = path.with_name(f"{path.name}.gz")
    compressed.unlink(missing_ok=True)  # of an earlier run
    if path.stat().st_size <= LONGEST:
        return path
    with path.open("rb") as source, gzip.open(compressed, "wb") as file:
        shutil.copyfileobj(source, file)
    path.unlink()
    return compressed


def _request(base_url: str, exchange: Exchange) -> harfile.Request:
    request, data = exchange.request, _post_data(exchange)
    headers = {"Authorization": f"[{request.identity}]"} | ({"Content-Type": data.mimeType} if data else {})
    headers |= {"Transfer-Encoding": "chunked"} if request.form_style.chunked else {}
    headers |= {"traceparent": f"00-{exchange.trace}-{exchange.trace[16:]}-01"} if exchange.trace else {}
    return harfile.Request(
        method=request.method,
        url=f"{base_url}{request.target}",
        httpVersion=HTTP,
        headers=[harfile.Record(name=name, value=value) for name, value in headers.items()],
        queryString=[harfile.Record(name=name, value=value) for name, value in request.query],
        postData=data,
    )


def _post_data(exchange: Exchange) -> harfile.PostData | None:
    request = exchange.request
    if request.body is not None:
        return harfile.PostData(mimeType=request.body[0], text=request.body[1].decode("utf-8", "replace"))
    if request.form is None:
        return None
    parts = []
    for name, value in request.form.items():
        if isinstance(value, str):
            parts.append(harfile.PostParameter(name=name, value=value))
        else:
            file_name, _, media_type = file_as_sent(value, request.form_style)
            parts.append(harfile.PostParameter(name=name, fileName=file_name, contentType=media_type))
    return harfile.PostData(mimeType=media_type_of(request.form_style), params=parts)


def _response(exchange: Exchange) -> harfile.Response:
    status = exchange.status or 0
    headers = [harfile.Record(name=name, value=value) for name, value in exchange.headers.items()]
    media_type = exchange.headers.get("Content-Type", "")
    try:
        content = harfile.Content(len(exchange.body), mimeType=media_type, text=exchange.body.decode("utf-8"))
    except UnicodeDecodeError:
        encoded = b64encode(exchange.body).decode()
        content = harfile.Content(len(exchange.body), mimeType=media_type, text=encoded, encoding="base64")
    is_registered = status in HTTPStatus._value2member_map_
    return harfile.Response(
        status=status,
        statusText=HTTPStatus(status).phrase if is_registered else "",
        httpVersion=HTTP,
        headers=headers,
        content=content,
        redirectURL=exchange.redirects[-1][1] if exchange.redirects else "",
        bodySize=len(exchange.body),
    )
