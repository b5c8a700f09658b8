"""Finds names that say which part of speech they are and not what they hold, such as `told`, `each` or `is_there`.

Such a word may be the best one here and there, so what fails is a share of more than one in 200 names.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ("contract_tests", "link_management_contract", "mock_server")
MAX_SHARE = 1 / 200
LIMITS = ("MOST_", "LONGEST_", "LEAST_", "SHORTEST_", "HIGHEST_", "LOWEST_")  # where others write MAX_ and MIN_
QUESTIONS = {"is", "has", "was", "are", "may", "can", "does"}  # with one of these, a participle makes a statement
PARTICIPLES = set(
    re.findall(
        r"\w+",
        """
        asked began begun called came caught chosen come counted done drawn ended escaped followed forced found
        given gone handed heard held hidden judged kept known left listed looked made marked meant merged met
        missed named noted observed opened passed planned refused remarked said seen sent settled shown shrunk
        sought spent stopped taken told tried turned used varied waited wanted watched went written
        """,
    )
)
SMALL_WORDS = set(
    re.findall(
        r"\w+",
        """
        a about above after again ahead alike all alone along also always an another any apart around as at
        before behind below beside between beyond both but by each early elsewhere enough every everywhere few
        for from further half he her here how in instead it later least less like likewise long many mine more
        most much near nearest never no none of often on once only other others ours own rest same seldom several
        she short since so some still such that the their theirs them then there these they this those to
        together too twice two under until what when where which while who whole whose why with within without
        """,
    )
)
PAIRED = {"after", "before", "other", "by", "at", "on", "left"}  # usual for one of two, or for what remains


def main() -> int:
    trees = ((path, ast.parse(path.read_text("utf-8"))) for path in sources())
    names = [(path, line, name) for path, tree in trees for name, line in bound_names(tree)]
    weak = [(path, line, name) for path, line, name in names if is_weak(name)]
    if len(weak) <= MAX_SHARE * len(names):
        return 0
    for path, line, name in weak:
        print(f"{path.relative_to(ROOT)}:{line}: {name}")
    share = f"{len(weak)} of {len(names)} names, and {MAX_SHARE:.2%} are allowed"
    print(f"these do not say what they hold ({share}); use nouns for things, verbs for acts, MAX_ and MIN_ for limits")
    return 1


def sources() -> Iterator[Path]:
    for package in PACKAGES:
        yield from sorted((ROOT / package).rglob("*.py"))


def bound_names(tree: ast.Module) -> Iterator[tuple[str, int]]:
    """Each place that gives a name to something, with its line; a use of the name is none."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name, node.lineno
            case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name, node.lineno
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.alias(asname=str(name)):
                yield name, node.lineno
            case _:
                pass


def is_weak(name: str) -> bool:
    if name.startswith("__"):
        return False
    if name.lstrip("_").startswith(LIMITS):
        return True
    words = [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]
    if not words or (len(words) == 1 and words[0] in PAIRED):
        return False
    if words[0] in QUESTIONS and words[1:]:
        return all(word in SMALL_WORDS for word in words[1:])
    return words[0] == "of" or all(word in PARTICIPLES | SMALL_WORDS for word in words)


if __name__ == "__main__":
    sys.exit(main())
