"""The command line; see the package."""

import argparse
import warnings
from pathlib import Path

import tests.benchmarks.learn as package
from tests.benchmarks.learn.data_sets import data_sets
from tests.benchmarks.learn.rankings import rankings
from tests.benchmarks.learn.reach import reach
from tests.benchmarks.learn.steps import steps
from tests.benchmarks.learn.summary import run, summary
from tests.benchmarks.learn.tables import tables


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(
        description=package.__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("accuracy")
    one.add_argument("--seeds", type=int, default=3, help="two at least; four times as many for few rows")
    one.add_argument("--quick", action="store_true", help="few data sets, clean and 5%% of the rows")
    one.add_argument("--rivals", action="store_true", help="without peers that the summary does not count")
    one.add_argument("--only", nargs="+", metavar="WORD", help="data sets whose name or task has a word")
    two = commands.add_parser("tables")
    two.add_argument("--seeds", type=int, default=10)
    three = commands.add_parser("steps")
    three.add_argument("folder", type=Path)
    three.add_argument("--rows", type=int, default=20_000_000)
    three.add_argument("--block-size", type=int, default=768, help="768: 1 MB a step")
    three.add_argument("--steps", type=int, default=300)
    four = commands.add_parser("reach")
    four.add_argument("folder", type=Path)
    four.add_argument("--rows", type=int, default=20_000_000, help="4000000 on a small machine")
    four.add_argument("--limit", type=float, default=2e9, help="bytes of memory")
    four.add_argument("--source", type=Path, default=Path(), help="checkout whose package is measured")
    five = commands.add_parser("rankings")
    five.add_argument("--seeds", type=int, default=3)
    five.add_argument("--only", nargs="+", metavar="WORD", help="data sets whose name or task has a word")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.command == "accuracy":
        if given.seeds < 2:
            parser.error("--seeds: one seed says nothing of chance; take two or more")
        cells = run(data_sets(given.only, given.quick), given.seeds, given.quick, given.rivals)
        print("\n" + "\n".join(summary(cells)))
    elif given.command == "tables":
        tables(given.seeds)
    elif given.command == "rankings":
        rankings(data_sets(given.only), given.seeds)
    elif given.command == "reach":
        reach(given.folder, given.rows, given.limit, given.source)
    else:
        steps(given.folder, given.rows, given.block_size, given.steps)


if __name__ == "__main__":
    main()
