"""Forms that are misread in the shapes that common clients write."""

from __future__ import annotations

import re

from werkzeug.http import parse_options_header

from mock_server.faults.call import Call
from mock_server.faults.defects.defect import N, S, Table, defect
from mock_server.faults.defects.means import answers, asks


def _media_type(call: Call) -> str:
    return str(call.environ.get("CONTENT_TYPE", ""))


def _boundary(call: Call) -> str:
    return parse_options_header(_media_type(call))[1].get("boundary", "")


def _loses_texts_after_files(call: Call) -> Call:
    is_file = [isinstance(part.content, bytes) for part in call.parts.values()]
    if True not in is_file:
        return call
    first = is_file.index(True)
    return call.sending({name: text for at, (name, text) in enumerate(call.form.items()) if at < first or is_file[at]})


def _loses_typed_texts(call: Call) -> Call:
    typed = rb'name="(\w+)"\r\nContent-Type: text/plain'
    lost = {name.decode() for name in re.findall(typed, call.body)}
    return call.sending({name: text for name, text in call.form.items() if name not in lost}) if lost else call


def _comes_in_chunks(call: Call) -> bool:
    return "HTTP_TRANSFER_ENCODING" in call.environ


LONG_BOUNDARY = 64  # characters

# fmt: off
DEFECTS: Table = {
    "forms.client-shapes-are-understood": [
        defect("quoted-boundary-is-refused", "A boundary in quotes is taken with them.",
               answers("create update", 400, when=lambda call: 'boundary="' in _media_type(call))),
        defect("text-after-a-file-is-lost", "A text that stands behind a file is lost.",
               asks("create update", _loses_texts_after_files), S),
        defect("typed-text-is-a-file", "A part with a media type is taken for a file.",
               asks("create update", _loses_typed_texts)),
        defect("form-without-a-last-line-end-is-refused", "A form that ends with its last boundary is refused.",
               answers("create update", 400, when=lambda call: call.body.endswith(b"--"))),
        defect("part-with-a-length-fails", "A part that says its length makes the server fail.",
               answers("create update", 500, when=lambda call: b"\r\nContent-Length: " in call.body)),
        defect("create-does-not-know-quoted-boundaries", "A create with a boundary in quotes is refused.",
               answers("create", 400, when=lambda call: 'boundary="' in _media_type(call)), N),
    ],
    "forms.any-boundary-is-understood": [
        defect("long-boundary-is-refused", "A boundary of over 64 characters is refused.",
               answers("create update", 400, when=lambda call: len(_boundary(call)) > LONG_BOUNDARY)),
        defect("comma-in-a-boundary-is-refused", "A boundary with a comma is refused.",
               answers("create update", 400, when=lambda call: "," in _boundary(call))),
    ],
    "forms.chunked-forms-are-understood": [
        defect("chunked-form-is-refused", "A form that comes in chunks is refused as if it were empty.",
               answers("create update", 400, when=_comes_in_chunks)),
        defect("chunked-form-is-lost", "A form that comes in chunks is taken for an empty one.",
               asks("update", lambda call: call.sending({}) if _comes_in_chunks(call) else call), S),
    ],
    "forms.empty-file-inputs-are-accepted": [
        defect("empty-file-input-is-refused", "A form in which no file was chosen is refused.",
               answers("create update", 400, when=lambda call: b'filename=""' in call.body)),
    ],
}
# fmt: on
