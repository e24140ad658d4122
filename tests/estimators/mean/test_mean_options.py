"""Options that are wrong, or do not go together, end in one clear line; `rng` alone decides the draw."""

from __future__ import annotations

import inspect
import itertools
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from flat import flat
from mean_lakes import same, write

import distmom as dm
from distmom.estimators.mean import question
from distmom.estimators.options import REFUSED
from distmom.keywords import PLACES

X = np.random.default_rng(0).normal(size=2_000)

DESIGNS: dict[str, Any] = {
    "RandomBlocks": dm.RandomBlocks(),
    "a number": 9,
    "blocks='paper'": "paper",
    "a size": dm.RandomBlocks(size=50),
    "fine": dm.RandomBlocks(fine="many"),
    "chunk_rows": dm.RandomBlocks(chunk_rows=4),
    "repeats": dm.RandomBlocks(repeats=3),
    "StoredBlocks": dm.StoredBlocks(),
    "FileBlocks": dm.FileBlocks(),
    "UnitBlocks": dm.UnitBlocks("u"),
    "SampledBlocks": dm.SampledBlocks(),
    "SampledBlocks(replace=True)": dm.SampledBlocks(tau=0.3, replace=True),
}
PROMISES: dict[str, dict[str, Any]] = {
    "contamination": {"contamination": 2},
    "a share as contamination": {"contamination": 0.002},
    "weights": {"weights": "w"},
    "joint='geometric'": {"joint": True},
    "joint='coordinatewise'": {"joint": "coordinatewise"},
    "interval='order'": {"interval": "order"},
    "interval='closed-form'": {"interval": "closed-form"},
}
WIDER = {
    "SampledBlocks(replace=True)": "SampledBlocks",
    "UnitBlocks": "blocks of units",
    "FileBlocks": "blocks of units",
    "a share as contamination": "contamination",
    "joint='geometric'": "joint",
    "joint='coordinatewise'": "joint",
}
"""What is a case of what, in the list of refused pairs."""


def calls() -> Iterator[tuple[set[str], dict[str, Any]]]:
    """Each design with each promise, and each two promises: the names of both, and the options."""
    for design, blocks in DESIGNS.items():
        for promise, options in PROMISES.items():
            yield {design, promise}, {"blocks": blocks, **options}
    for first, second in itertools.combinations(PROMISES, 2):
        both = {**PROMISES[first], **PROMISES[second]}
        if len(both) == 2:
            yield {first, second}, both


def one_line(error: BaseException) -> str:
    text = str(error)
    assert text and "\n" not in text
    return text


@pytest.mark.slow
def test_pairs_that_exclude_each_other(lake: Path) -> None:
    """Every call of two options is refused by the list in its words, or answered."""
    met = set()
    for names, options in calls():
        names |= {WIDER[name] for name in names if name in WIDER}
        wrong = [pair for pair in REFUSED if {*pair[:2]} <= names]
        if not wrong:
            found = dm.mean(lake, "x", rng=0, **options)
            assert np.all(np.isfinite(found.estimate)), options
            continue
        with pytest.raises(dm.ConfigError) as caught:
            dm.mean(lake, "x", rng=0, **options)
        text = one_line(caught.value)
        met |= {pair for pair in wrong if pair[1] in text and pair[2] in text}
        assert any(pair[1] in text and pair[2] in text for pair in wrong), options
    missed = {pair for pair in REFUSED if pair not in met}
    assert not missed


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    for i in range(12):
        part = X[i * 150 : (i + 1) * 150]
        write(tmp_path / f"{i:02}.parquet", {"x": part, "w": np.ones(part.size), "u": np.arange(part.size)})
    return tmp_path


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"nan": "keeep"}, ["nan", "did you mean 'keep'?"]),
        ({"nan": None}, ["nan", "None"]),
        ({"missing": "nul"}, ["missing", "did you mean 'null'?"]),
        ({"on_bad_file": "skipp"}, ["on_bad_file", "did you mean 'skip'?"]),
        ({"interval": "cantely"}, ["interval", "did you mean 'cantelli'?"]),
        ({"confidence_level": 1.0}, ["confidence_level", "between 0 and 1", "1.0"]),
        ({"confidence_level": 99}, ["confidence_level", "99", "such as 0.99"]),
        ({"confidence_level": float("nan")}, ["confidence_level", "nan"]),
        ({"confidence_level": "0.99"}, ["confidence_level", "'0.99'"]),
        ({"batch_rows": 0}, ["batch_rows", "at least 1"]),
        ({"executor": 2}, ["executor", "2", "Threads"]),
        ({"memory_limit": "plenty"}, ["memory_limit", "plenty"]),
        ({"column": "y"}, ["y", "x"]),
        ({"column": ["x", "x"]}, ["column", "'x'", "twice"]),
        ({"column": 3}, ["column", "3"]),
        ({"column": {"x": 1}}, ["column"]),
        ({"by": "x"}, ["by", "'x'", "also a column"]),
        ({"by": "z"}, ["z"]),
        ({"where": "x >"}, ["where"]),
        ({"where": "z > 1"}, ["z"]),
        ({"where": 3}, ["where", "int"]),
        ({"rng": "seed"}, ["rng", "'seed'"]),
        ({"rng": -1}, ["rng", "-1"]),
        ({"rng": 1.5}, ["rng", "float"]),
        ({"executor": 3.5}, ["executor"]),
    ],
    ids=str,
)
def test_wrong_values(options: dict[str, Any], words: list[str], tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", {"x": X})
    with pytest.raises(dm.ConfigError) as caught:
        flat(dm.mean)(tmp_path, **{"column": "x", **options})
    text = one_line(caught.value)
    for word in words:
        assert word in text, text


def test_an_unknown_option_is_an_error_that_names_the_place() -> None:
    with pytest.raises(TypeError, match=r"no parameter 'block'; did you mean 'blocks'\?"):
        dm.mean(X, block=5)  # type: ignore[call-arg]
    for word in PLACES.keys() - inspect.signature(dm.mean).parameters.keys():
        with pytest.raises(TypeError, match=rf"^({word}: now|mean\(\) has no parameter '{word}')"):
            dm.mean(X, **{word: 1})  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"n_blocks: now blocks=…; see help\(dm\.mean\)"):
        dm.mean(X, n_blocks=5)  # type: ignore[call-arg]


def test_every_parameter_and_choice_is_documented() -> None:
    text = inspect.getdoc(dm.mean) or ""
    for name, parameter in inspect.signature(dm.mean).parameters.items():
        assert name in text
        for value in get_args(parameter.annotation):
            assert not isinstance(value, str) or f'"{value}"' in text, name


def test_whole_numbers_of_numpy_are_numbers() -> None:
    plain = dm.mean(X, rng=0, blocks=7)
    assert plain.n_blocks == 7
    assert same(plain, dm.mean(X, rng=np.int32(0), blocks=np.int64(7)))  # type: ignore[arg-type]
    assert dm.mean(X, rng=0, blocks=dm.RandomBlocks(size=np.int64(400))).n_blocks == 5  # type: ignore[arg-type]


def test_a_small_block_size_is_not_a_million_blocks() -> None:
    x = np.zeros(1_500_000, np.float32)
    with pytest.raises(dm.ConfigError, match=r"blocks: size: 1 of 1500000 rows.*1,500,000"):
        dm.mean(x, rng=0, blocks=dm.RandomBlocks(size=1))


def test_a_confidence_that_the_proposition_does_not_reach_prints_the_range() -> None:
    with pytest.raises(dm.ConfigError, match=r"confidence_level.*0\.99"):
        dm.mean(X[:3], rng=0, blocks=dm.StoredBlocks("paper"))
    with pytest.raises(dm.ConfigError, match="confidence_level"):
        dm.mean(X[:20], rng=0, blocks=dm.SampledBlocks())


def test_a_column_must_be_named_where_there_are_several(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", {"x": X, "y": X})
    with pytest.raises(dm.ConfigError, match=r"column.*'x', 'y'"):
        dm.mean(tmp_path)


# --- randomness


def test_the_seed_alone_decides_the_draw() -> None:
    """The global generators are neither read nor changed."""
    np.random.seed(1)  # noqa: NPY002
    random.seed(1)
    state, other = np.random.get_state(), random.getstate()  # noqa: NPY002
    first = [dm.mean(X, rng=1), dm.mean(X, rng=1, blocks=dm.SampledBlocks()), dm.mean(X, rng=None)]
    after = np.random.get_state()  # noqa: NPY002
    assert np.array_equal(state[1], after[1]) and state[2:] == after[2:]
    assert random.getstate() == other
    np.random.seed(2)  # noqa: NPY002
    random.seed(2)
    assert first[0] == dm.mean(X, rng=1)
    assert first[1] == dm.mean(X, rng=1, blocks=dm.SampledBlocks())
    assert first[0] != dm.mean(X, rng=2)


def test_without_a_seed_runs_differ_and_can_be_repeated() -> None:
    first, second = dm.mean(X), dm.mean(X)
    assert first != second
    assert first.run["seed"] != second.run["seed"]
    assert first == dm.mean(X, rng=first.run["seed"])


def test_kinds_of_seeds() -> None:
    """An int and the SeedSequence of it are pure; a Generator is drawn from, so repetitions differ."""
    assert dm.mean(X, rng=5) == dm.mean(X, rng=np.random.SeedSequence(5))
    sequence = np.random.SeedSequence(5)
    assert dm.mean(X, rng=sequence) == dm.mean(X, rng=sequence)
    child = sequence.spawn(1)[0]
    assert dm.mean(X, rng=sequence) != dm.mean(X, rng=child)
    once = [dm.mean(X, rng=g) for g in [np.random.default_rng(5)] * 5]
    again = [dm.mean(X, rng=g) for g in [np.random.default_rng(5)] * 5]
    assert len({r.block_estimates[0] for r in once}) == 5, "five repetitions, five assignments"
    assert all(a == b for a, b in zip(once, again, strict=True))
    assert once[2] == dm.mean(X, rng=once[2].run["seed"])


def test_no_two_blocks_share_a_stream() -> None:
    """Chunks seeded with random 31-bit integers would repeat: here blocks are addresses of one key."""
    x = np.arange(50_000.0)
    found = dm.mean(x, rng=0, blocks=dm.SampledBlocks(5_000, size=12))
    # two equal samples of 12 of 50,000 rows have probability 1e-49
    assert len(set(found.block_estimates.tolist())) > 4_900


def test_results_carry_what_repeats_them(tmp_path: Path) -> None:
    write(tmp_path / "a.parquet", {"x": X})
    found = dm.mean(tmp_path, rng=3)
    assert found.data["n_files"] == 1 and found.data["skipped"] == [] and found.data["n_bytes"] > 0
    assert found.run["seed"] == 3
    assert {"distmom", "draws", "numpy", "pyarrow", "python"} <= found.run["versions"].keys()


def test_a_run_that_cannot_fit_says_so_before_it_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "a.parquet", {"x": X})

    def never(*args: Any, **kwargs: Any) -> Any:
        raise AssertionError("rows were read")

    monkeypatch.setattr(question, "run_plan", never)
    with pytest.raises(dm.ResourceError, match=r"a\.parquet.*projected memory.*limit of 100 MB") as caught:
        dm.mean(tmp_path, rng=0, executor=dm.Threads(memory_limit="100MB"))
    one_line(caught.value)
