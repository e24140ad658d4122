"""Messages of the package in the flags of a command, and in the keys of a configuration."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.cli.commands.mean import mean_command
from distmom.cli.commands.ustat import ustat_command
from distmom.cli.program import program
from distmom.cli.words import flags_of
from distmom.jobs.config import Config
from distmom.jobs.kinds.summary import JOB
from distmom.jobs.words import keys_of
from distmom.report import Results

CONFIG = Config(
    Path("job.toml"),
    {},
    {
        ("blocks", "n"): (3, "n"),
        ("mean", "column"): (5, "columns"),
        ("promise", "confidence_level"): (7, "confidence"),
        ("promise", "interval"): (8, "interval"),
        ("run", "threads"): (9, "threads"),
    },
)

SAID = [
    ("blocks: must be a number", "--blocks: must be a number", "blocks.n: must be a number"),
    ("FileBlocks: n and size: drop", "--blocks and --block-size: drop", "blocks.n and blocks.size: drop"),
    ("SampledBlocks: tau: must lie", "--tau: must lie", "blocks.tau: must lie"),
    ("UnitBlocks: columns: 'x' is", "--block-by: 'x' is", "blocks.columns: 'x' is"),
    ("Threads: n: must be", "--threads: must be", "run.threads: must be"),
    (
        "Processes: 3 of them; use Threads",
        "--workers: 3 of them; use --threads",
        "run.workers: 3 of them; use run.threads",
    ),
    ("column: 'x' is given twice", "--column: 'x' is given twice", "mean.columns: 'x' is given twice"),
    ("confidence_level: must lie", "--confidence: must lie", "promise.confidence: must lie"),
    (
        "UnitBlocks cannot be combined with interval='closed-form': use blocks=FileBlocks()",
        "--block-by cannot be combined with --interval closed-form: use --block-by file",
        'blocks.design = "units" cannot be combined with promise.interval = "closed-form": '
        'use blocks.design = "files"',
    ),
    (
        "StoredBlocks(7) and SampledBlocks(5, size=20, replace=True)",
        "--order stored --blocks 7 and --scheme monte_carlo --blocks 5 --block-size 20",
        'blocks.design = "stored", blocks.n = 7 and '
        'blocks.design = "sampled", blocks.n = 5, blocks.size = 20, blocks.replace = true',
    ),
    (
        "UnitBlocks(['a', 'b'], n='paper') was RandomBlocks(), now RandomBlocks(chunk_rows=4, fine='many')",
        "--block-by a --block-by b --blocks paper was random blocks, now --chunk-rows 4 --fine many",
        'blocks.design = "units", blocks.columns = ["a", "b"], blocks.n = "paper" was '
        'blocks.design = "random", now blocks.chunk_rows = 4, blocks.fine = "many"',
    ),
    (
        "pairs: n: too many; use SampledPairs(replace=True) or DisjointPairs",
        "--pair-count: too many; use --pairs sampled --scheme monte_carlo or --pairs disjoint",
        'pairs.n: too many; use pairs.kind = "sampled", pairs.replace = true or pairs.kind = "disjoint"',
    ),
    (
        "losses; use SampledPairs(n), or SampledBlocks(size=…)",
        "losses; use --pairs sampled --pair-count, or --scheme swor --block-size",
        'losses; use pairs.kind = "sampled", pairs.n, or blocks.design = "sampled", blocks.size',
    ),
    (
        "DisjointPairs cannot be combined with StoredBlocks: use RandomBlocks",
        "--pairs disjoint cannot be combined with --order stored: use random blocks",
        'pairs.kind = "disjoint" cannot be combined with blocks.design = "stored": use '
        'blocks.design = "random"',
    ),
    (
        "use State(path, on_change='restart') or blocks=… of random rows",
        "use --on-change restart or blocks of random rows",
        'use run.on_change = "restart" or blocks of random rows',
    ),
    (
        "another unit? where='x != -9999' leaves them out; or where=\"s = 'a b'\", or interval='cantelli'",
        "another unit? --where 'x != -9999' leaves them out; or --where \"s = 'a b'\", or "
        "--interval cantelli",
        'another unit? data.where = "x != -9999" leaves them out; or data.where = "s = \'a b\'", '
        'or promise.interval = "cantelli"',
    ),
    (
        "kernel 'auc' takes two samples: one lake with by='label'",
        "kernel 'auc' takes two samples: one lake with --by label",
        "kernel 'auc' takes two samples: one lake with mean.by = \"label\"",
    ),
    ("column 'RandomBlocks' is not in blocks", "column 'RandomBlocks' is not in blocks", None),
    ("no confidence_levels, 'interval', interval", "no confidence_levels, 'interval', interval", None),
]


@pytest.mark.parametrize(("text", "flags", "keys"), SAID)
def test_objects_are_flags_and_keys(text: str, flags: str, keys: str | None) -> None:
    assert flags_of(ustat_command).of(text) == flags
    assert keys_of(CONFIG, JOB.tables).of(text) == (text if keys is None else keys)


def test_a_command_has_its_own_flags_only() -> None:
    text = "kernel: must be a name; statistic='v' is left"
    assert flags_of(mean_command).of(text) == text
    assert flags_of(ustat_command).of(text) == "--kernel: must be a name; --statistic v is left"


def test_documents_and_files_have_flags_as_the_table_has(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = pa.table({"x": np.random.default_rng(0).normal(size=3_000)})
    pq.write_table(table, tmp_path / "a.parquet")
    words = ["mean", str(tmp_path / "a.parquet"), "-c", "x", "--blocks", "31", "--interval", "closed-form"]
    told = "the proposition holds for 5 blocks, not 31; use --blocks paper"
    assert program.run(words) == 0
    assert told in capsys.readouterr().err
    assert program.run([*words, "--json", "--output", str(tmp_path / "out.json")]) == 0
    for text in (capsys.readouterr().out, (tmp_path / "out.json").read_text("utf-8")):
        assert json.loads(text)["results"][0]["interval_reason"] == told
    found = dm.mean(tmp_path / "a.parquet", "x", blocks=31, interval="closed-form", rng=0)
    assert found.interval_reason == told.replace(
        "--blocks paper", "blocks='paper'"
    )  # in Python its own words


def test_notes_are_said_in_flags() -> None:
    found = dm.mean(np.random.default_rng(0).normal(size=300), rng=0)
    one = replace(found, notes=("the answer is by rows; use blocks=FileBlocks()",))
    several = Results.of(one).said_as(flags_of(mean_command).of)
    assert several[0].notes == ("the answer is by rows; use --block-by file",)
    assert several[0].estimate == found.estimate and several.run == one.run
    assert found.said_as(flags_of(mean_command).of) is found
