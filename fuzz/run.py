"""Looks for bytes that a reader of the project does not get along with, guided by what of its code they reach.

It needs atheris, which is no dependency of the project: install it beside the project into an environment of its own.
What follows `--` goes to libFuzzer.
"""
# ruff: noqa: INP001 - a folder of scripts

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import traceback
from collections.abc import Callable
from hashlib import sha1
from pathlib import Path
from tempfile import TemporaryDirectory

HERE = Path(__file__).parent
FOUND = HERE.parent / "build" / "fuzz"
NAMES = ("form", "fixture", "recording", "ledger", "waivers")
LONGEST, MOST_MEGABYTES, SLOWEST = 20_000, 1000, 20  # bytes of an input, memory, and seconds that one may take
MOST_KEPT, LONGEST_KEPT = 60, 2000  # inputs that a corpus keeps, and bytes of each
Reader = Callable[[bytes], None]


def main() -> None:
    """Run a reader for a while, or reduce what was found to the fewest inputs that reach as much."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--seconds", type=int, default=600, help="default: 600")
    parser.add_argument(
        "--found", type=Path, help="the folder for inputs that reach new code; default: build/fuzz/NAME"
    )
    parser.add_argument("--keep-going", action="store_true", help="keep the shortest input of each kind of crash")
    parser.add_argument("--merge", type=Path, metavar="FOLDER", help="write the fewest small inputs there, and end")
    parser.add_argument("options", nargs="*", help="of libFuzzer, after --")
    given = parser.parse_args()
    found: Path = given.found or FOUND / given.name
    crashes = found.with_name(f"{found.name}-crashes")
    for folder in (found, crashes):
        folder.mkdir(parents=True, exist_ok=True)
    if given.merge:
        merge(given.name, found, given.merge)
    else:
        bounds = [f"-max_total_time={given.seconds}", f"-timeout={SLOWEST}", f"-artifact_prefix={crashes}/"]
        fuzz(given.name, [*bounds, *given.options, str(found)], crashes if given.keep_going else None)


def fuzz(name: str, options: list[str], crashes: Path | None) -> None:
    """Run libFuzzer; it ends the process.

    Args:
        name: the reader's.
        options: further ones of libFuzzer; folders, at the end, are where inputs are kept and taken from.
        crashes: where the shortest input of each kind of crash is kept; None to stop at the first.
    """
    import atheris  # type: ignore[import-untyped]  # noqa: PLC0415 - in an environment of its own

    with atheris.instrument_imports(include=["mock_server", "contract_tests"]):
        sys.path.insert(0, str(HERE))
        from readers import READERS  # noqa: PLC0415 - while imports are instrumented
    reader = READERS[name]
    words = f"-dict={HERE / 'words' / f'{name}.txt'}"
    bounds = [f"-max_len={LONGEST}", f"-rss_limit_mb={MOST_MEGABYTES}", "-print_final_stats=1", words]
    atheris.Setup([sys.argv[0], *bounds, *options, str(seeds(name))], kept(reader, crashes) if crashes else reader)
    atheris.Fuzz()


def kept(reader: Reader, crashes: Path) -> Reader:
    """A reader that goes on after a crash, and keeps the shortest input of each kind."""
    known: dict[str, int] = {}

    def run(data: bytes) -> None:
        try:
            reader(data)
        except Exception as error:  # noqa: BLE001 - any is a finding
            places = traceback.extract_tb(error.__traceback__)
            own = next((each for each in reversed(places) if "/site-packages/" not in each.filename), places[-1])
            kind = f"{type(error).__name__}-{Path(own.filename).stem}-{own.lineno}"
            if len(data) < known.get(kind, LONGEST + 1):
                known[kind] = len(data)
                (crashes / kind).write_bytes(data)
                (crashes / f"{kind}.txt").write_text("".join(traceback.format_exception(error)), errors="replace")

    return run


def merge(name: str, found: Path, folder: Path) -> None:
    """Reduce the inputs that were found, and the seeds, to the fewest that reach as much; the small ones are kept."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as place:
        merged, script = Path(place, "merged"), Path(place, "merge.py")  # libFuzzer starts the script again by itself
        merged.mkdir()
        call = f"run.fuzz({name!r}, sys.argv[1:], pathlib.Path({place!r}))"
        script.write_text(
            f"#!{sys.executable}\nimport pathlib, sys\nsys.path.insert(0, {str(HERE)!r})\nimport run\n{call}\n", "utf-8"
        )
        script.chmod(0o700)
        subprocess.run([script, "-merge=1", merged, found], check=True)  # noqa: S603 - this program
        inputs = sorted(merged.iterdir(), key=lambda path: (path.stat().st_size, path.name))
        for path in [each for each in inputs if each.stat().st_size < LONGEST_KEPT][:MOST_KEPT]:
            digest = sha1(path.read_bytes(), usedforsecurity=False).hexdigest()
            shutil.copyfile(path, folder / digest[:12])


def seeds(name: str) -> Path:
    """Where the inputs of a reader are that are kept with the code."""
    return HERE / "corpus" / name


if __name__ == "__main__":
    main()
