"""YAML that may come from anybody: fixtures, snapshots and profiles, checked before anything is built from them.

Only plain mappings, lists, texts, decimal numbers, times, true, false and null of YAML 1.1 are read. Aliases, merge
keys and tags are refused, because they let a few bytes stand for many.
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import yaml

from mock_server.errors import SettingsError

if TYPE_CHECKING:
    from yaml import SafeDumper, SafeLoader
else:  # the fast ones, where PyYAML has them
    SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    SafeDumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

DEEPEST = 20  # levels


class _Loader(SafeLoader):
    """Reads numbers as people write them: no octal, no base 60, no numbers of a thousand digits."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - a table of PyYAML's, replaced as a whole
        first: [(tag, pattern) for tag, pattern in pairs if not tag.endswith((":int", ":float", ":merge", ":value"))]
        for first, pairs in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }


_Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"[-+]?(0|[1-9]\d{0,17})$"), list("-+0123456789"))
_Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"[-+]?\d{1,18}\.\d{1,18}$"), list("-+0123456789"))


class _Dumper(SafeDumper):
    """Writes repeated values in full each time."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - as PyYAML calls it
        """Write no value as an alias."""
        return True


def read_document(text: str) -> Any:
    """Read a document.

    Args:
        text: YAML, or JSON.

    Raises:
        SettingsError: if it is not YAML, or holds something that is refused; the message says where.
    """
    try:
        _check(text)
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # an invalid date is a ValueError
        if isinstance(error, SettingsError):
            raise
        raise SettingsError(f"it is not YAML: {' '.join(str(error).split())}") from error


def lines_of(text: str, node_paths: Iterable[tuple[str | int, ...]]) -> dict[tuple[str | int, ...], int]:
    """The lines, counted from 1, on which places of a document begin; places are the keys and positions on the way."""
    root = yaml.compose(text, Loader=SafeLoader)
    return {node_path: _node(root, node_path).start_mark.line + 1 for node_path in node_paths}


def _node(node: Any, node_path: tuple[str | int, ...]) -> Any:
    """The node at a place, or the last on the way to it."""
    for step in node_path:
        if isinstance(node, yaml.SequenceNode) and isinstance(step, int):
            node = node.value[step]
        elif isinstance(node, yaml.MappingNode):
            node = next((value for key, value in reversed(node.value) if key.value == str(step)), node)
    return node


def write_document(document: Any) -> str:
    text: str = yaml.dump(document, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text


def _check(text: str) -> None:
    """Refuse what stands for more than its text, and what is nested too deep."""
    depth = 0
    event: Any
    for event in yaml.parse(text, Loader=SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        problem = "it is nested" if depth > DEEPEST else _unsupported_feature(event)
        if problem:
            explanation = f" more than {DEEPEST} deep" if depth > DEEPEST else ", which is not read here; write it out"
            raise SettingsError(f"line {event.start_mark.line + 1}: {problem}{explanation}")


def _unsupported_feature(event: Any) -> str:
    if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
        return f"an alias or anchor, {event.anchor}"
    if getattr(event, "tag", None):
        return f"a tag, {event.tag}"
    if isinstance(event, yaml.ScalarEvent) and event.value == "<<" and event.implicit[0]:
        return "a merge key, <<"
    return ""
