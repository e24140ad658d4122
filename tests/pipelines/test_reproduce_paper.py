"""The experiments of the paper once more, in small, and what their verdicts rest on."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from distmom.cluster import Call
from distmom.jobs import run_config
from pipelines.paper import tables
from pipelines.paper.beyond import catoni, huber
from pipelines.paper.chunks import Wanted, estimates
from pipelines.paper.distributions import DISTRIBUTIONS, samples
from pipelines.paper.rows import ROWS, median_of, pairs_of_sample, partition_blocks, sample_blocks
from pipelines.reproduce_paper import JOB

SMALL = """\
pipeline = "reproduce_paper"

[paper]
replications = 200
costly = 20
captioned = 40
quantile_replications = 20
quantile_costly = 5
errata_replications = 100
coverage_replications = 50
contamination_replications = 10
learning_seeds = 1

[run]
threads = 2

[output]
folder = "paper"
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., SimpleNamespace]:
    """The job in this process: exit code and log."""

    def job(file: Path, **options: Any) -> SimpleNamespace:
        capsys.readouterr()
        return SimpleNamespace(code=run_config(file, job=JOB, **options), err=capsys.readouterr().err)

    return job


def test_every_published_number_has_a_row() -> None:
    assert set(tables.published()) == {
        (r.table, r.name, distribution.name) for r in ROWS for distribution in DISTRIBUTIONS
    }
    assert len(ROWS) == 14


def test_the_numbers_of_blocks_that_reproduce_the_tables() -> None:
    assert partition_blocks(0.1, 4.5) == 11
    assert [sample_blocks(0.1, tau) for tau in (1 / 6, 0.3, 0.45)] == [14, 38, 600]
    assert [pairs_of_sample(0.1, tau) for tau in (1 / 6, 0.3)] == [4116, 13338]


def test_the_median_of_an_even_number_of_blocks() -> None:
    blocks = np.array([4.0, 1.0, 2.0, 3.0])
    assert (median_of(blocks, "lower"), median_of(blocks, "midpoint")) == (2.0, 2.5)
    assert median_of(blocks[:3], "lower") == median_of(blocks[:3], "midpoint") == 2.0


@pytest.mark.parametrize("name", ["MoM", "MoRM_1/6_SWoR", "MoU_1/2;1/2", "MoU_Partition", "MoRU_SWoR"])
def test_rows_estimate_what_they_should(name: str) -> None:
    """Fails with probability below 1e-6: the mean of 40 estimates, each of standard error below 0.13."""
    row = next(row for row in ROWS if row.name == name)
    found, _ = row.estimates(samples(DISTRIBUTIONS[0], 40, 7), 0.1, captioned=False, seed=1)
    assert abs(found.mean() - (row.table == "variance")) < 0.13 * 5 / np.sqrt(40)


def test_references_agree_with_the_sample_mean_on_clean_rows_and_huber_withstands_outlying_ones() -> None:
    data = samples(DISTRIBUTIONS[0], 20, 3)
    assert np.abs(huber(data) - data.mean(axis=1)).max() < 0.1
    assert np.abs(catoni(data) - data.mean(axis=1)).max() < 0.02
    data[:, :50] = 1e3
    assert np.abs(huber(data)).max() < 0.5 < np.abs(data.mean(axis=1)).min()


def test_a_wrong_number_does_not_agree() -> None:
    row = ROWS[0]
    right = tables.published()["mean", "MoM", "normal"][0] * np.random.default_rng(0).chisquare(1, 5000)
    assert tables.compare(row, DISTRIBUTIONS[0], "as reproduced", right, 11)["agree"]
    wrong = tables.compare(row, DISTRIBUTIONS[0], "as reproduced", 1.3 * right, 11)
    assert not wrong["agree"] and wrong["reason"]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("costly = 20", 'parts = "table"', "line 5: paper.parts: must be among tables"),
        ("costly = 20", "costly = 1", "line 5: paper.costly: must be at least 2"),
        ("[output]", '[data]\npath = "x"\n[output]', "data"),
    ],
)
def test_what_is_wrong_is_one_line(
    run: Callable[..., Any], tmp_path: Path, old: str, new: str, said: str
) -> None:
    (tmp_path / "job.toml").write_text(SMALL.replace(old, new))
    ended = run(tmp_path / "job.toml", quiet=True)
    assert ended.code == 2
    assert said in ended.err and ended.err.count("\n") == 1
    assert not (tmp_path / "paper").exists()


def test_what_the_command_line_adds_is_refused_or_told(run: Callable[..., Any], tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text(SMALL)
    for place, words in (
        ({"scheduler": "tcp://nobody:1"}, "Cluster(scheduler='tcp://nobody:1'"),
        ({"workers": 5}, "Processes(n=5"),
    ):
        told = run(tmp_path / "job.toml", dry_run=True, **place)
        assert told.code == 0 and f"executor {words}" in told.err
    ended = run(tmp_path / "job.toml", dry_run=True, quiet=True, state="kept")
    assert ended.code == 2 and "keeps none; drop --state" in ended.err


def test_dry_run_and_parts_one_after_another(run: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "job.toml"
    file.write_text(SMALL)
    assert run(file, dry_run=True).code == 0
    assert not (tmp_path / "paper").exists()
    file.write_text(SMALL.replace("costly = 20", 'parts = ["coverage"]'))
    assert run(file).code == 0
    assert sorted(p.name for p in (tmp_path / "paper").iterdir()) == [
        "coverage.parquet",
        "index.html",
        "index.md",
    ]


def test_samples_from_the_middle_of_a_sequence() -> None:
    for distribution in DISTRIBUTIONS:
        np.testing.assert_array_equal(
            samples(distribution, 5, 1, 2)[3:], samples(distribution, 2, 1, 2, first=3)
        )


@pytest.mark.slow
def test_chunks_in_any_order_give_each_row_its_own_samples() -> None:
    """The slow twin: each chunk by itself, from the sequence as a whole."""
    wanted = [
        Wanted("MoM", "normal", (1,), 230, 0.1),
        Wanted("MoRM_1/6_SWoR", "normal", (1,), 110, 0.1, median="midpoint"),
        Wanted("MoM", "pareto3", (1,), 20, 0.1),
    ]

    def backwards(calls: Sequence[Call]) -> list[Any]:
        return [call.function(*call.arguments) for call in reversed(calls)][::-1]

    for one, (found, n_blocks) in zip(wanted, estimates(backwards, wanted, 7), strict=True):
        row = next(row for row in ROWS if row.name == one.row)
        distribution = next(
            distribution for distribution in DISTRIBUTIONS if distribution.name == one.distribution
        )
        data = samples(distribution, one.n_samples, 7, 1)
        parts = [
            row.estimates(data[f : f + 100], 0.1, captioned=False, seed=7 + f, median=one.median)
            for f in range(0, one.n_samples, 100)
        ]
        np.testing.assert_array_equal(found, np.concatenate([part for part, _ in parts]))
        assert n_blocks == parts[0][1]


@pytest.mark.slow  # three parts twice, once on processes
@pytest.mark.timeout(300)
def test_the_same_bits_on_two_workers_as_on_one_thread(run: Callable[..., Any], tmp_path: Path) -> None:
    """One part for each way to cut the work; 101 samples of the cheap rows, so that there are two chunks."""
    parts = ("tables", "coverage", "learning")
    few = re.sub(r"(costly|captioned|replications) = \d+", r"\1 = 2", SMALL)
    few = re.sub(r"^(replications|coverage_replications) = 2", r"\1 = 101", few, flags=re.MULTILINE)
    few = few.replace("[paper]", f"[paper]\nparts = {list(parts)}")
    for place in ("threads = 1", "workers = 2"):
        folder = place.replace(" ", "")
        file = tmp_path / f"{folder}.toml"
        file.write_text(few.replace('"paper"', f'"{folder}"').replace("threads = 2", place))
        ended = run(file)
        assert ended.code == 0, ended.err
    for part in parts:
        one, two = (
            pq.read_table(tmp_path / place / f"{part}.parquet") for place in ("threads=1", "workers=2")
        )
        assert one.num_rows and one.equals(two)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_all_of_it_in_small(run: Callable[..., Any], tmp_path: Path) -> None:
    """200 samples. Numbers of known setting and finite variance lie within 5 combined standard errors.

    40 numbers, each outside with probability below 1e-5 were they normal; squared errors are skewed, hence
    the seed is fixed and 5 is not 3. The control: as captioned, MoU Partition differs under each skewed
    distribution.
    """
    (tmp_path / "job.toml").write_text(SMALL)
    ended = run(tmp_path / "job.toml")
    assert ended.code == 0, ended.err
    lines = pq.read_table(tmp_path / "paper" / "tables.parquet").to_pylist()
    assert len(lines) == 14 * 4 * 2
    for line in lines:
        known = line["setting"] == "as reproduced" and not line["row"].startswith("MoIU")
        if known and line["compared_by"] == "standard errors":
            away = abs(line["ours"] - line["published"])
            assert away < 5 * np.hypot(line["ours_se"], line["published_se"]), line
    captioned = {
        line["distribution"]: line
        for line in lines
        if line["row"] == "MoU_Partition" and line["setting"] == "as captioned"
    }
    assert not any(captioned[distribution]["agree"] for distribution in ("student3", "lognormal", "pareto3"))
    page = (tmp_path / "paper" / "index.html").read_text()
    assert len(re.findall('aria-label="deviation from the truth', page)) == 8
    assert "| MoM | normal | 11 | 200 |" in (tmp_path / "paper" / "index.md").read_text()
    learned = pq.read_table(tmp_path / "paper" / "learning.parquet").to_pylist()
    assert len(learned) == 2 * 2 * 2 * 14
