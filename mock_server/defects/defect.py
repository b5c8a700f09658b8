"""What a defect is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from werkzeug.wrappers import Response

from mock_server.calls import Call, Serve, Transformation

S, D, N = "splash-pages", "domains", "notification-handlers"


@dataclass(frozen=True)
class Defect:
    """A named way of being wrong.

    Attributes:
        name: what is wrong, in a few words.
        rule: the id of the rule that it breaks.
        what: what is wrong, in a sentence.
        transformation: what stands between the network and the honest server.
        kinds: the kinds of record that it befalls; all of which the rule speaks, if empty.
        also: further rules that it breaks.
        needs: the values of open points without which it does not show.
    """

    name: str
    rule: str
    what: str
    transformation: Transformation
    kinds: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    needs: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, call: Call, serve: Serve) -> Response:
        """Answer a call, wrongly if it is of a kind that the defect befalls."""
        return self.transformation(call, serve) if not self.kinds or call.kind in self.kinds else serve(call)
