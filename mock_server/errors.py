"""Refusals, and how the error envelope reports them."""

import re

# Keys in a request's environment.
REFUSAL = "mock_server.refusal"  # its refusal, whatever it asks for
FROM_EXTENSION = "mock_server.from_extension"  # an extension sends it, not a client


class Refusal(Exception):  # noqa: N818 - an answer, not a failure
    """A request that is not carried out.

    Args:
        answer: a status, or a status and a body as the open points name them: `400`, `200-errors`, `302-login`.
        title: what is wrong, what was expected and what to do, in one sentence.
        rule: the id of the rule that the author of the request should look up, or None.
        field: the form field or parameter at fault, or None.
        mistake: whether the client is to blame.
    """

    def __init__(
        self,
        answer: str,
        title: str,
        rule: str | None = None,
        field: str | None = None,
        *,
        mistake: bool = True,
    ) -> None:
        super().__init__(title)
        self.mistake = mistake
        self.answer = answer
        self.title = title
        self.rule = rule
        self.field = field

    @property
    def status(self) -> int:
        return int(self.answer.partition("-")[0])

    @property
    def body(self) -> str:
        """The special body that the answer asks for: `errors`, `login`, `null` or nothing."""
        return self.answer.partition("-")[2]

    def as_dict(self) -> dict[str, str | int]:
        """The entry for the list `errors`."""
        entry: dict[str, str | int] = {"title": self.title, "status": self.status}
        if self.rule:
            entry["rule"] = self.rule
        if self.field:
            entry["field"] = self.field
        return entry


def extra(name: str) -> str:
    """How to install an extra of this project, as a message says it."""
    requirement = f"link-management-contract[{name}] @ git+https://<this repository>"
    return f"the extra [{name}] (with uvx: uvx --from '{requirement}' mock-server ...)"


class SettingsError(ValueError):
    """A setting or fixture that the mock cannot use; the message is one line for people."""


def without_secrets_of(url: str, text: str) -> str:
    """A text without the user and the password of a URL that it may repeat, whole or in part."""
    secret = url.partition("://")[2].rpartition("@")[0]
    parts = {secret, *re.split("[/?#:@]", secret)}
    for part in sorted(filter(None, parts), key=len, reverse=True):
        text = re.sub(rf"(?<!\w){re.escape(part)}(?!\w)", "...", text)
    return text
