"""Write the golden answers anew, and say what changed: ``python -m tests.contract [WORD …]``.

Words keep to the cases whose names contain one of them.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from tests.contract import golden
from tests.contract.cases import CASES, answer
from tests.contract.lakes import Lakes
from tests.contract.ways import Way


def main(words: list[str]) -> None:
    """All cases on one thread."""
    made_with, before = golden.read()
    after, slow = ({**before} if words else {}), []
    with tempfile.TemporaryDirectory() as root:
        lakes = Lakes(Path(root) / "lakes")
        for name in CASES:
            if words and not any(word in name for word in words):
                continue
            started = time.process_time()
            after[name] = answer(name, Way(lakes, Path(root)))
            slow.append((time.process_time() - started, name))
    same = made_with == golden.made_with()
    for name in sorted({*before, *after}):
        if name not in before or name not in after:
            print(f"{name}: {'is new' if name in after else 'is gone'}")
            continue
        for line in golden.differences(name, before[name], after[name], same_machine=same):
            print(line)
    golden.write(after)
    print(f"{len(after)} cases, {golden.FILE.stat().st_size:,} bytes, {sum(s for s, _ in slow):.1f} s")
    for seconds, name in sorted(slow, reverse=True)[:15]:
        print(f"  {seconds:.2f} s {name}")


if __name__ == "__main__":
    main(sys.argv[1:])
