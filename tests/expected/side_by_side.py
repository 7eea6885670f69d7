"""Run all cases with two source trees, and say where their results differ in a single bit.

    python tests/expected/side_by_side.py OLD_SRC NEW_SRC

`OLD_SRC` and `NEW_SRC` are the folders that hold `sfit`. Texts and fields that only the new tree
has do not count. The exit code is 1 if anything else differs.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

TESTS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS))

from expected.content import differences, new_fields  # noqa: E402

SHOWN = 5
"""Differences of one case that are printed."""


def main() -> None:
    """Compare two source trees."""
    parser = argparse.ArgumentParser(description="Compare the results of two source trees.")
    parser.add_argument("old", type=Path, metavar="OLD_SRC")
    parser.add_argument("new", type=Path, metavar="NEW_SRC")
    trees = parser.parse_args()
    with TemporaryDirectory() as folder:
        old = _results(trees.old, Path(folder) / "old")
        new = _results(trees.new, Path(folder) / "new")
    assert old.keys() == new.keys()
    differing = [name for name in old if not _same(name, old[name], new[name])]
    added = sorted({field for name in old for field in new_fields(old[name], new[name])})
    if added:
        print(f"fields that only the new tree has: {', '.join(added)}")
    print(f"{len(old) - len(differing)} of {len(old)} cases are the same to the bit.")
    sys.exit(1 if differing else 0)


def _results(source: Path, folder: Path) -> dict[str, Any]:
    """The results of all cases, computed in a process that imports this source tree."""
    source = source.resolve()
    folder.mkdir()
    print(f"{source}:", flush=True)
    environment = {**os.environ, "PYTHONPATH": str(source)}
    where = "import sfit; print(sfit.__file__)"
    command = [sys.executable, "-c", where]
    found = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    if source not in Path(found.stdout.strip()).parents:
        sys.exit(f"{source} holds no package sfit: Python finds {found.stdout.strip()}.")
    command = [sys.executable, "-m", "expected", "--to", str(folder)]
    subprocess.run(command, cwd=TESTS, env=environment, check=True)
    return {
        f"{file.stem}: {title}": result
        for file in sorted(folder.glob("*.json"))
        for title, result in json.loads(file.read_text(encoding="utf-8")).items()
    }


def _same(name: str, old: Any, new: Any) -> bool:
    """Whether two results are the same to the byte, where both have a field."""
    for result, tree in ((old, "old"), (new, "new")):
        if "error" in result:
            print(f"{name}: the {tree} tree fails: {result['error']}")
            return False
    found = list(differences(old, new))
    if not found and json.dumps(old) != json.dumps(_only_known(old, new)):
        found = ["the fields come in another order"]
    for difference in found[:SHOWN]:
        print(f"{name}{difference}")
    if len(found) > SHOWN:
        print(f"{name}: {len(found) - SHOWN} more differences")
    return not found


def _only_known(old: Any, new: Any) -> Any:
    """The new result without the fields that the old one does not have."""
    if isinstance(old, dict):
        return {name: _only_known(old[name], new[name]) for name in new if name in old}
    if isinstance(old, list):
        return [_only_known(*pair) for pair in zip(old, new, strict=True)]
    return new


if __name__ == "__main__":
    main()
