"""What the survey writes: harmless values, every host and address under `example.com`."""

from urllib.parse import quote
from zlib import crc32

from contract_tests.evidence.exchange import FileContent, FormValue
from link_management_contract import Resource

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c489"
    "0000000d4944415478da63304e9bf91f0004340232847318f00000000049454e44ae426082"
)
TEXTS = {
    "email": "contract-tests@example.com",
    "telegram": "123456789:AAcontract-tests-0123456789-abcdefg",
    "telegram_chat_id": "-100123456",
    "custom_css": "h1 { color: #336699 }",
    "custom_js": "// contract tests",
}
SCRIPTS = "Größe 東京"  # letters of several scripts, composed
RARE_LETTERS = "\N{CJK UNIFIED IDEOGRAPH-20BB7}野家"  # one of them beyond U+FFFF
LONG_NAME, LONG_TEXT, LARGE_IMAGE = 255, 3000, 20_000  # letters, letters and bytes that are ordinary
OVERLONG_NAME = "long" * 100  # letters, which a server may refuse
MAX_PATH_LENGTH = 200
ADDRESSES = ("webhook", "slack", "discord", "microsoft_teams")


def image(field: str) -> FileContent:
    return f"{field}.png", PNG, "image/png"


def value(field: str, form_type: str, variant: str = "") -> FormValue:
    """A value for a field; another one for another variant."""
    match form_type:
        case "file":
            return image(field)
        case "integer":
            return "7" if variant else "5"
        case "boolean":
            return "0" if variant else "1"
    if field in TEXTS:
        text = TEXTS[field].replace("contract", f"{variant}contract")
        return text if "contract" in text else f"{text}{crc32(variant.encode()) or ''}"
    if _holds_address(field):
        return f"https://www.example.com/{variant}{field.replace('_', '-')}"
    return f"{variant}{field.replace('_', ' ')}"


def long_value(field: str, form_type: str) -> FormValue:
    """A value of a length that is ordinary: code and descriptions of a few pages, an image of a few kilobytes."""
    if form_type == "file":
        name, content, media_type = image(field)
        return name, content + bytes(LARGE_IMAGE - len(content)), media_type
    text = value(field, form_type)
    if form_type != "text" or field in ("email", "telegram", "telegram_chat_id"):
        return text
    if _holds_address(field):
        return f"{text}/".ljust(LONG_NAME, "x")
    length = LONG_TEXT if field.startswith(("custom_css", "custom_js", "ads_", "description")) else LONG_NAME
    lines = [str(text)] * (length // (len(text) + 1))
    return "\n".join(lines) if length == LONG_TEXT else " ".join(lines)


def harmless(field: str, form_type: str, made_up: object) -> FormValue:
    """A made-up value for a field; an address still leads to `example.com`, and no account is hit by chance."""
    if form_type == "file":
        return f"{field}.png", made_up if isinstance(made_up, bytes) else str(made_up).encode(), "image/png"
    if _holds_address(field):
        return f"https://www.example.com/{quote(str(made_up), safe='')[:MAX_PATH_LENGTH]}"
    return value(field, form_type) if field in ("email", "telegram", "telegram_chat_id") else str(made_up)


def long_form(resource: Resource, label: str, variant: str = "") -> dict[str, FormValue]:
    """A form with an ordinary amount in each field that goes with any type, and a long name; a host has its limits."""
    values = {name: long_value(name, kind) for name, kind in resource.optional.items() if name not in resource.types_of}
    name = f"{label} {variant}".ljust(LONG_NAME, "x") if resource.label == "name" else label
    return values | {resource.label: name}


def _holds_address(field: str) -> bool:
    return field.endswith("_url") or field in ADDRESSES


def signed(resource: Resource, marker: str, handler_type: str = "") -> dict[str, FormValue]:
    """A field other than the label that reads may show, with a marker in it."""
    if handler_type == "telegram":
        return {"telegram": f"123456789:AAcontract-tests-{marker}"}
    address = (
        "webhook"
        if resource.types
        else next((name for name in resource.optional if name in resource.record_schema), "")
    )
    if address:
        return {address: f"https://www.example.com/{marker}"}
    return {name: marker for name, type_ in list(resource.optional.items())[:1] if type_ == "text"}


def optional(resource: Resource, variant: str = "") -> dict[str, FormValue]:
    """The optional fields of a form that go with any type."""
    fields = ((name, kind) for name, kind in resource.optional.items() if name not in resource.types_of)
    return {name: value(name, kind, variant) for name, kind in fields}


def standalone_types(resource: Resource) -> tuple[str, ...]:
    """The types of a handler that need no field of their own; one of type `email` may need its address."""
    return tuple(handler_type for handler_type in resource.types if handler_type != "email")


def type_form(resource: Resource, handler_type: str, variant: str = "") -> dict[str, FormValue]:
    """The type of a handler, with all fields that may go with it."""
    type_fields = [field for field, field_type in resource.types_of.items() if field_type == handler_type]
    values = {field: value(field, resource.optional[field], variant) for field in type_fields}
    return {"type": handler_type} | values | optional(resource, variant)
