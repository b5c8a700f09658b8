"""Forms as other clients write them are forms, by the reading of a library that shares nothing with this project."""

from __future__ import annotations

import re
from email import message_from_bytes
from email.policy import HTTP

import pytest

from contract_tests.evidence.multipart import FORM_STYLES, NOTHING_CHOSEN, USUAL, FormStyle, encode

FORM: dict[str, str | tuple[str, bytes, str]] = {"name": "Größe 1", "logo": ("logo.png", b"\x89PNG\r\n--", "image/png")}


@pytest.mark.parametrize("shape", [USUAL, *FORM_STYLES, NOTHING_CHOSEN], ids=lambda shape: shape.client)
def test_each_shape_is_a_form(shape: FormStyle) -> None:
    body, media_type = encode(FORM, shape)
    assert len(shape.boundary) <= 70
    read = message_from_bytes(f"Content-Type: {media_type}\r\n\r\n".encode() + body, policy=HTTP)
    assert read.defects == []
    parts = {part.get_param("name", header="Content-Disposition"): part for part in read.iter_parts()}
    assert list(parts) == (["logo", "name"] if shape.files_first else ["name", "logo"])
    assert parts["name"].get_payload(decode=True) == "Größe 1".encode()
    assert parts["logo"].get_payload(decode=True) == (b"" if shape == NOTHING_CHOSEN else FORM["logo"][1])
    assert (parts["logo"].get_filename() or "").endswith("" if shape == NOTHING_CHOSEN else ".png")


def test_a_boundary_with_punctuation_is_quoted() -> None:
    odd = [shape for shape in FORM_STYLES if set('()<>@,;:\\"/[]?=') & set(shape.boundary)]
    assert odd
    assert all(shape.quoted for shape in odd)


@pytest.mark.parametrize("shape", [USUAL, *FORM_STYLES, NOTHING_CHOSEN], ids=lambda shape: shape.client)
def test_a_boundary_holds_only_what_common_clients_put_there(shape: FormStyle) -> None:
    """Some frameworks end a boundary at a comma, which RFC 2046 allows and no client sends."""
    assert re.fullmatch(r"[A-Za-z0-9=_+.-]+", shape.boundary)
    found = re.search(r'boundary="?([^";,]+)"?', encode(FORM, shape)[1])
    assert found
    assert found[1] == shape.boundary
