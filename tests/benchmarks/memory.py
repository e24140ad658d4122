"""Memory that runs are projected to need, against what they took: 40 shapes, each in a process of its own.

    python -m tests.benchmarks.memory [FOLDER] [--only WORDS] [--free]

Projected and measured are bytes of the whole process, the program among them: `program` is what it needs
before any data, projected like everything else. Measured is the largest resident size (VmHWM). A run has its
projection as its limit, so that it would be refused if it were not allowed what it was told to need.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tests.memory_shapes import SHAPES, measure


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", help="where lakes are kept")
    parser.add_argument("--only", default="", help="shapes with these words in their name")
    parser.add_argument("--free", action="store_true", help="do not make the projection the limit")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or Path(temporary)
        print(
            "| shape | projected | measured | ratio | peak/limit | largest pieces |\n"
            "|---|---|---|---|---|---|"
        )
        for shape in SHAPES:
            if args.only in shape.name:
                try:
                    print(measure(shape, folder, within=not args.free).line(), flush=True)
                except RuntimeError as error:
                    print(f"| {shape.name} | {error} |", flush=True)


if __name__ == "__main__":
    main()
