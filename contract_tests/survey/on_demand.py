"""What a run tries only if it is asked to: images that many servers refuse, and text that breaks some."""

from functools import partial

from contract_tests.evidence.evidence import UnreadableText
from contract_tests.evidence.exchange import Expect, request_of
from contract_tests.evidence.multipart import encode
from contract_tests.survey.form_values import image
from contract_tests.survey.visitor import Visitor

LARGE_IMAGES = (200_000, 2_000_000)  # bytes
NOT_UTF_8 = b"\xff\xfe"


def send_large_files(visitor: Visitor) -> None:
    """Create records with large images; what is refused is noted (`open_points.remarks`)."""
    files = [name for name, form_type in visitor.resource.optional.items() if form_type == "file"]
    for size in LARGE_IMAGES if files else ():
        name, content, media_type = image(files[0])
        form = visitor.records.required_form() | {files[0]: (name, content.ljust(size, b"\0"), media_type)}
        visitor.retry(partial(visitor.post, form, Expect.OPEN))


def poison(visitor: Visitor) -> None:
    """Create a record whose name is not UTF-8, look at it once, and delete it by the id that it was given.

    It is deleted without having been seen, as it may break the very reads that would show it; so the list has to be
    complete beforehand, and without that id.
    """
    resource, target, before = visitor.resource, visitor.target, visitor.list_settled()
    if resource.label != "name" or not before.complete:
        return
    marker = visitor.records.new_marker()
    form, media_type = encode(visitor.records.required_form() | {resource.label: marker})
    created = visitor.post_raw(marker, media_type, form.replace(marker.encode(), marker.encode() + NOT_UTF_8))
    identifier = created.made_id
    if identifier is None or identifier in before.ids or target.ledger.is_foreign(resource.name, identifier):
        return
    read = target.send_once(request_of(resource, "read", identifier, Expect.OPEN))
    listing = target.send_once(visitor.list_of({}, Expect.OPEN))
    visitor.evidence.unreadable_text = UnreadableText(created, read, listing)
    target.ledger.note_seen(target.ledger.latest(resource.name, marker))
    if visitor.delete(identifier, Expect.OPEN).succeeded:
        target.ledger.note_deleted(resource.name, identifier)
