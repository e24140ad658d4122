"""``distmom ustat``: the words of Python on the command line."""

from __future__ import annotations

import importlib
import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm

Run = Callable[..., Any]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    g = np.random.default_rng(0)
    for i in range(3):
        x = g.normal(size=400)
        pq.write_table(pa.table({"x": x, "y": x + g.normal(size=400)}), folder / f"{i}.parquet")
    return folder


def test_json_is_the_result_of_python(distmom: Run, pairs: Path) -> None:
    done = distmom(
        "ustat", pairs, "-c", "x", "-c", "y", "--kernel", "kendall", "--blocks", 5, "--json", "--quiet"
    )
    document = json.loads(done.out)
    found = dm.ustatistic(pairs, ["x", "y"], kernel="kendall", rng=0, blocks=5)
    assert document["results"] == [found.to_dict()] and done.code == 0
    assert document["results"][0]["n_pairs"] == found.n_pairs > 5 * 239 * 238 // 2


def test_parameters_files_and_tables(distmom: Run, pairs: Path, tmp_path: Path) -> None:
    target = tmp_path / "found.parquet"
    words = ("-c", "x", "--kernel", "rbf", "--parameter", "bandwidth=1.5", "--statistic", "v", "--threads", 1)
    done = distmom("ustat", pairs, *words, "--output", target)
    kernel = dm.kernels.rbf(1.5)
    found = dm.ustatistic(pairs, "x", kernel=kernel, statistic="v", rng=0)
    assert pq.read_table(target).to_pylist()[0]["estimate"] == found.estimate
    assert "rbf" in done.out


def test_a_dry_run_tells_pairs_and_passes_without_reading(distmom: Run, pairs: Path) -> None:
    done = distmom(
        "ustat", pairs, "-c", "x", "-c", "y", "--kernel", "distance", "--blocks", 3, "--dry-run", "--json"
    )
    plan = json.loads(done.out)["plan"]
    assert (plan["n_rows"], plan["tuples_one_by_one"], plan["passes"]) == (1_200, 3 * 400 * 399 // 2, 3)
    fast = json.loads(distmom("ustat", pairs, "-c", "x", "--kernel", "gini", "--dry-run", "--json").out)[
        "plan"
    ]
    assert (fast["tuples_one_by_one"], fast["n_blocks"]) == (0, "auto")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--kernel", "ginny"), "did you mean 'gini'"),
        (("--kernel", "rbf", "--parameter", "bandwidth"), "NAME=VALUE"),
        (("--kernel", "rbf", "--parameter", "width=2"), "bandwidth"),
        (
            ("--kernel", "gini", "--pairs", "sampled", "--order", "stored"),
            "--order stored cannot be combined with --pairs",
        ),
        (
            ("--kernel", "gini", "--pairs", "disjoint", "--pair-budget", "9"),
            "--pair-budget cannot be combined with",
        ),
        (("--kernel", "gini", "--pair-count", "9"), "use --pairs sampled"),
        (
            ("--kernel", "gini", "--pairs", "disjoint", "--order", "stored"),
            "--pairs disjoint cannot be combined with --order stored: its pairs are formed at "
            "random; use random",
        ),
        (
            ("--kernel", "rbf", "--parameter", "bandwidth=1", "--pair-budget", "9"),
            "--pairs sampled, which draws some",
        ),
    ],
)
def test_wrong_words_are_one_line(distmom: Run, pairs: Path, words: tuple[str, ...], message: str) -> None:
    ended = distmom("ustat", pairs, "-c", "x", *words)
    assert ended.code == 2 and message in ended.err
    assert ended.err.count("\n") == 1 and not ended.out


def test_samples_of_pairs_in_the_words_of_python(distmom: Run, pairs: Path) -> None:
    words = ("-c", "x", "--kernel", "gini", "--pairs", "sampled", "--blocks", 5)
    done = distmom("ustat", pairs, *words, "--pair-count", 300, "--json", "--quiet")
    found = dm.ustatistic(pairs, "x", kernel="gini", rng=0, blocks=5, pairs=dm.SampledPairs(300))
    assert json.loads(done.out)["results"] == [found.to_dict()] and found.n_pairs == 1500
    assert json.loads(distmom("ustat", pairs, *words, "--dry-run", "--json").out)["plan"]["n_pairs"] == 12_000


def test_a_function_of_ones_own_is_named_by_its_module(
    distmom: Run, pairs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = """
    import numpy as np
    import distmom as dm
    def wide(a, b, c): return np.maximum(np.maximum(a, b), c) - np.minimum(np.minimum(a, b), c)
    def between(a, b, x): return (np.minimum(a, b) < x) & (x < np.maximum(a, b))
    ready = dm.kernels.gini()
    """
    (tmp_path / "own_kernels.py").write_text(textwrap.dedent(source))
    monkeypatch.chdir(tmp_path)
    ask = (pairs, "-c", "x", "--blocks", 25, "--json", "--quiet")
    done = distmom("ustat", *ask, "--kernel", "own_kernels:wide", "--degree", 3)
    document = json.loads(done.out)["results"][0]
    made = dm.kernels.kernel(importlib.import_module("own_kernels").wide, degree=3)
    assert document == dm.ustatistic(pairs, "x", kernel=made, rng=0, blocks=25).to_dict()
    two = ("ustat", pairs, *ask, "--kernel", "own_kernels:between", "--degree", "2,1")
    assert json.loads(distmom(*two).out)["results"][0]["estimate"] == pytest.approx(1 / 3, abs=0.03)
    ready = distmom("ustat", *ask, "--kernel", "own_kernels:ready")
    assert json.loads(ready.out)["results"][0]["kernel"] == "gini"
    for words, told in (
        (("own_kernels:narrow",), "cannot be imported"),
        (("own_kernels:wide", "--degree", "two"), "must be a number"),
        (("gini", "--degree", 3), "has 2, not 3"),
        (("own_kernels:wide", "--degree", 3, "--parameter", "shape=2"), "columns, symmetrize or compiled"),
    ):
        refused = distmom("ustat", *ask, "--kernel", *words)
        assert refused.code == 2 and told in refused.err and refused.err.count("\n") == 1, words


def test_a_matrix_is_a_list_of_its_rows() -> None:
    from distmom.cli.commands.kernels import parameters_of

    given = ("matrix=[[1, 0], [0, 2.5]]", "threshold=3", "similarity=rbf", "symmetrize=true")
    assert parameters_of(given) == {
        "matrix": [[1, 0], [0, 2.5]],
        "threshold": 3,
        "similarity": "rbf",
        "symmetrize": True,
    }
    with pytest.raises(dm.ConfigError, match="a matrix is a list of its rows"):
        parameters_of(("matrix=[[1, 0], [0",))


def test_two_samples_are_read_alike(distmom: Run, pairs: Path) -> None:
    one, other = pairs / "0.parquet", pairs / "1.parquet"
    words = ("-c", "x", "--kernel", "auc", "--blocks", 5, "--nan", "raise", "--batch-rows", 100)
    done = distmom("ustat", one, other, *words, "--json", "--quiet")
    assert done.code == 0, done.err
    found = dm.ustatistic([one, other], "x", kernel="auc", rng=0, blocks=5)
    assert json.loads(done.out)["results"] == [found.to_dict()]


def test_the_auc_of_a_score_by_its_label(distmom: Run, tmp_path: Path) -> None:
    g = np.random.default_rng(0)
    label = np.arange(1_200) % 3
    table = pa.table({"score": g.normal(size=1_200) + label, "label": label})
    files = [tmp_path / "a.parquet", tmp_path / "b.parquet"]
    for i, file in enumerate(files):
        pq.write_table(table.slice(600 * i, 600), file)
    words = ("-c", "score", "--kernel", "auc", "--blocks", 9)
    right = dm.ustatistic(dm.scan(files), "score", kernel="auc", by={"label": [0, 2]}, blocks=9, rng=0)
    done = distmom("ustat", *files, *words, "--by", "label", "--sample", 0, "--sample", 2)
    assert f"{right.estimate:.3f}"[:5] in done.out and "samples: label = 0, label = 2" in done.err
    assert "left out: 400 rows of neither sample" in done.err
    page = tmp_path / "_page.html"
    two = ("--where", "label = 0", "--where", "label = 2", "--json", "--quiet", "--output", page)
    done = distmom("ustat", tmp_path, *words, *two)
    assert done.code == 0, done.err
    found = json.loads(done.out)["results"]
    assert found[0]["estimate"] == right.estimate and found[0]["samples"] == ["label = 0", "label = 2"]
    assert "label = 0, label = 2" in page.read_text()
    refused = distmom("ustat", tmp_path, *words)
    assert refused.code == 2 and "takes two samples" in refused.err
