"""Tournaments on pairs of rows agree with the definitions, whatever the candidates and the blocks are."""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pair_tournament_twin as twin
import pytest
from mean_lakes import write
from small_leaves import patch_leaves

import distmom as dm
from distmom.estimators.tournament import pair_oracle
from distmom.numerics.blocks.labels import file_key, label_table, labels
from distmom.numerics.random.part_rows import rows_of_part
from distmom.numerics.random.philox import resolve_seed, stream_key
from distmom.numerics.random.tuple_draws import sample_tuples
from distmom.numerics.samples.row_samples import RowSamples
from distmom.passes.counted import map_blocks

K, N, SEED = 3, 96, 7
FAR = dm.Match(beta_r=1e9)
SEED_BITS = resolve_seed(SEED)[0]
FEATURES = ["u", "v"]
PAIR_LOSSES = ("mahalanobis", "ranking", "ranking_hinge", "ranking_logistic", "clustering")
COLUMNS = ["y", "u", "v", "s0", "s1", "s2"]


def data(seed: int = 0, n: int = N) -> dict[str, np.ndarray]:
    g = np.random.default_rng(seed)
    y = g.integers(0, 3, n).astype(float)
    u, v = y + g.normal(size=n), g.standard_t(2.1, n)
    scores = {f"s{i}": np.round(u + i * g.normal(size=n), 1) for i in range(3)}
    return {"y": y, "u": u, "v": v, **scores}


def matrices() -> dict[str, np.ndarray]:
    g = np.random.default_rng(5)
    found = {"good": np.diag([0.5, 0.0]), "zero": np.zeros((2, 2)), "one": np.eye(2)}
    roots = g.normal(size=(2, 2, 2))
    return {**found, **{f"m{i}": r @ r.T for i, r in enumerate(roots)}}


def case(kind: str) -> tuple[dict[str, Any], list[twin.Loss]]:
    """Arguments of the tournament, and the losses of its candidates on rows of `COLUMNS`."""
    if kind == "mahalanobis":
        given = {"candidates": matrices(), "target": "y", "features": FEATURES, "loss": dm.Loss(kind, 1.5)}
        losses = [twin.metric(m, 1.5) for m in matrices().values()]
        return given, [lambda a, b, f=f: f(a[:3], b[:3]) for f in losses]  # type: ignore[misc]
    if kind == "clustering":
        cells = {f"k{i}": _cell(i) for i in range(3)}
        given = {"candidates": {**cells, "y": "y"}, "features": FEATURES, "loss": kind}

        def by(cell: Any) -> twin.Loss:
            def row(a: twin.Row) -> list[float]:
                return [float(cell({"u": np.array([a[1]]), "v": np.array([a[2]])})[0]), a[1], a[2]]

            whole = twin.clustering(0, [1, 2])
            return lambda a, b: whole(row(a), row(b))

        return given, [*(by(cell) for cell in cells.values()), twin.clustering(0, [1, 2])]
    scores = {"candidates": ["s0", "s1", "s2"], "target": "y", "loss": kind}
    return scores, [twin.ranking(c, kind) for c in (3, 4, 5)]


def _cell(i: int) -> Any:
    return lambda row: np.floor(row["u"] + i / 3.0)


def partitioned(columns: dict[str, np.ndarray], k: int) -> list[list[twin.Pairs]]:
    """All pairs of the blocks of both parts: whole numbers of fine blocks, all as large to one row."""
    n = len(columns["y"])
    width = max(w for w in range(1, 1024, 2) if 2 * k * w <= 1023)
    fine = labels(0, n, file_key(SEED_BITS, ""), label_table(SEED_BITS, 2 * k * width))
    count = np.bincount(fine, minlength=2 * k * width)
    cells = map_blocks(count[None], np.array([2 * k]), np.array([False])).cells[0][fine]
    blocks = [twin.all_pairs(np.flatnonzero(cells == c).tolist()) for c in range(2 * k)]
    return [blocks[:k], blocks[k:]]


def check(found: dm.TournamentResult, want: Any, names: list[str]) -> None:
    values, loses, phi, level, finalists = want
    for mine, theirs in zip(found.duels.block_losses, values, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-11, atol=1e-13)
    assert found.duels.loses.tolist() == loses
    known = ~np.isnan(found.duels.distances)
    np.testing.assert_allclose(found.duels.distances[known], np.array(phi)[known], rtol=1e-11, atol=1e-13)
    assert found.beta_r == pytest.approx(level, rel=1e-11)
    assert found.finalists == found.champions == tuple(names[f] for f in finalists)


def run(columns: Any, given: dict[str, Any], **options: Any) -> dm.TournamentResult:
    more = {"blocks": K, "rng": SEED, **options}
    candidates, target = given["candidates"], given.get("target")
    rest = {k: v for k, v in given.items() if k not in ("candidates", "target")}
    return dm.tournament(columns, candidates, target, **rest, **more)


@pytest.mark.parametrize("kind", PAIR_LOSSES)
@pytest.mark.one_in(2)
def test_the_definitions_give_the_same(kind: str) -> None:
    columns = data()
    given, losses = case(kind)
    rows = np.stack([columns[c] for c in COLUMNS], axis=1).tolist()
    names = list(given["candidates"])
    for beta_r in (None, 0.1, 1e9):
        want = twin.tournament(losses, rows, partitioned(columns, K), beta_r)
        if not want[4]:
            with pytest.raises(dm.NoAnswerError, match="the smallest beta_r"):
                run(columns, given, match=dm.Match(beta_r=beta_r))
            continue
        found = run(columns, given, match=dm.Match(beta_r=beta_r))
        check(found, want, names)
        plain = np.concatenate(want[0], axis=1).mean(axis=1)
        mine = [found.candidates[name].plain_estimate for name in names]
        np.testing.assert_allclose(mine, plain, rtol=1e-11, atol=1e-13)
        assert beta_r != 1e9 or not np.isnan(found.duels.distances[np.array(want[1])]).any()


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("pairs", ["complete", "sampled"])
def test_samples_of_rows_and_of_pairs(again: bool, pairs: str) -> None:
    columns = data(1)
    columns["v"][11] = np.nan
    given, losses = case("mahalanobis")
    rows = np.stack([columns[c] for c in COLUMNS], axis=1).tolist()
    design: dict[str, Any] = (
        {"blocks": dm.SampledBlocks(K, 10, replace=again)}
        if pairs == "complete"
        else {"pairs": dm.SampledPairs(30, again)}
    )
    found = run(columns, given, **design, match=FAR)
    # one row of 96 does not count, so a few more are drawn
    drawn = int(np.ceil(10 * N / (N - 1))) if pairs == "complete" else int(np.ceil(30 * (N / (N - 1)) ** 2))
    blocks: list[list[twin.Pairs]] = []
    for part in range(2):
        mine: list[twin.Pairs] = []
        for block in range(part * K, (part + 1) * K):
            if pairs == "complete":
                places = RowSamples(SEED_BITS, np.array([N // 2]), drawn, again).numbers(block, 1)[0]
                numbers = rows_of_part(SEED_BITS, 2, part, places)
                mine.append(twin.all_pairs([r for r in numbers.tolist() if r != 11]))
                continue
            key = stream_key(SEED_BITS, "pairs")
            sides = sample_tuples(key, block, (N // 2,), (2,), drawn, replace=again)
            lists = [rows_of_part(SEED_BITS, 2, part, side).tolist() for side in sides]
            mine.append([p for p in zip(*lists, strict=True) if 11 not in p])
        blocks.append(mine)
    check(found, twin.tournament(losses, rows, blocks, 1e9), list(given["candidates"]))
    assert {r for p in blocks[0] for pair in p for r in pair}.isdisjoint(
        {r for p in blocks[1] for pair in p for r in pair}
    )
    assert all(r.interval is None for r in found) and found[0].n_nan == 1


def test_parts_are_disjoint_and_hold_every_row() -> None:
    for n_parts in (2, 3):
        parts = [rows_of_part(SEED_BITS, n_parts, p, np.arange(500)) for p in range(n_parts)]
        assert sorted(np.concatenate(parts).tolist()) == list(range(n_parts * 500))
        assert all((np.diff(part) > 0).all() for part in parts)
        first = np.bincount(parts[0] % n_parts, minlength=n_parts) / 500
        assert (np.abs(first - 1.0 / n_parts) < 0.11).all()  # Hoeffding: exceeded with probability 1e-5


def test_kernels_are_candidates_too() -> None:
    columns = data(2)
    mine = {"gini": dm.kernels.gini(), "square": dm.kernels.variance()}
    found = dm.tournament(columns, mine, loss="kernel", features="u", rng=SEED, blocks=K)
    rows = columns["u"][:, None].tolist()
    losses: list[twin.Loss] = [lambda a, b: abs(a[0] - b[0]), lambda a, b: (a[0] - b[0]) ** 2 / 2]
    check(found, twin.tournament(losses, rows, partitioned(columns, K), None), list(mine))


def lake(folder: Path) -> Path:
    columns = data(3, 900)
    columns["s1"][100:105] = np.nan
    edges = [0, 50, 50, 400, 900]
    for i, (a, b) in enumerate(pairwise(edges)):
        write(folder / f"{i}.parquet", {c: v[a:b] for c, v in columns.items()}, row_group_size=70)
    return folder


@pytest.mark.parametrize(
    "options",
    [
        {"blocks": 5},
        {"blocks": dm.FileBlocks(1)},
        {"blocks": dm.RandomBlocks(5, chunk_rows=7), "where": "u > -1"},
        {"blocks": dm.SampledBlocks(size=20)},
        {"pairs": dm.SampledPairs(100, replace=True)},
    ],
)
@pytest.mark.one_in(6)
def test_threads_batches_and_states_change_no_bit(
    options: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = lake(tmp_path / "lake")
    patch_leaves(monkeypatch)
    how: dict[str, Any] = {"loss": "ranking_hinge", "match": FAR, "rng": 0, **options}
    names = ["s0", "s1", "s2"]
    want = dm.tournament(folder, names, "y", executor=dm.Threads(1), **how)
    scan, state = dm.scan(folder, batch_rows=37), tmp_path / "state"
    found = dm.tournament(scan, names, "y", state=state, executor=dm.Threads(3), **how)
    assert found == want
    again = dm.tournament(folder, names, "y", state=state, **how)
    assert again == want and again.data["rounds"]["n_rounds_before"] == 3
    with pytest.raises(dm.ConfigError, match="with other options: loss was 'ranking_hinge', now 'ranking'"):
        dm.tournament(folder, names, "y", state=state, **{**how, "loss": "ranking"})
    with pytest.raises(dm.ConfigError, match="options: candidates was 's0', 's1', 's2', now 's0', 's1'; use"):
        dm.tournament(folder, names[:2], "y", state=state, **how)


def test_a_candidate_without_finite_losses_loses_and_is_named() -> None:
    columns = data(4)
    columns["s0"][:] = np.inf
    found = dm.tournament(columns, ["s0", "s1"], "y", loss="ranking_hinge", rng=0, blocks=K)
    assert found.champions == ("s1",)
    line = found.candidates["s0"]
    assert line.n_missing == N and "not finite in 6 of 6 blocks" in line.notes[0]


def test_partitions_into_more_cells_are_told() -> None:
    columns = {**data(), "two": np.arange(N) % 2, "three": np.arange(N) % 3, "also": (np.arange(N) // 3) % 3}
    how: dict[str, Any] = {"loss": "clustering", "features": FEATURES, "blocks": K, "rng": 0}
    found = dm.tournament(columns, ["two", "three"], **how)
    assert "has up to 3 cells in a block, another partition up to 2" in found.candidates["three"].notes[0]
    also = dm.tournament(columns, ["three", "also"], **how)
    few = [note for line in (found.candidates["two"], *also) for note in line.notes]
    assert not any("cells in a block" in note for note in few)


@pytest.mark.parametrize(
    ("candidates", "options", "words"),
    [
        ([np.eye(3)], {}, "there are 2 features"),
        ([np.array([[1.0, 0.0], [1.0, 1.0]])], {}, "symmetric"),
        ([-np.eye(2)], {}, "positive semi-definite"),
        ([np.ones(2)], {}, "square matrix"),
        (["u"], {}, "name a .npy file"),
        ([], {}, "at least one"),
        ([np.eye(2)], {"target": None}, "labels of classes"),
        ([np.eye(2)], {"features": None}, "takes coordinates"),
        ([np.eye(2)], {"features": ["u", "y"]}, "would see the target"),
        ([np.eye(2)], {"match": dm.Match("prediction")}, "roots of losses"),
        ([np.eye(2)], {"blocks": dm.RandomBlocks(size=5)}, "takes a number of blocks"),
        ([np.eye(2)], {"blocks": dm.StoredBlocks(K)}, r"so StoredBlocks\(3\) does not fit"),
        ([np.eye(2)], {"pairs": "disjoint"}, "takes complete or sampled pairs"),
        ([np.eye(2)], {"blocks": dm.SampledBlocks(K, 1)}, "at least 2"),
        ([np.eye(2)], {"blocks": dm.SampledBlocks(K), "contamination": 3}, "not for samples"),
        ([np.eye(2)], {"blocks": dm.SampledBlocks(K, 60)}, "from a part of 48"),
        ([np.eye(2)], {"pairs": dm.CompletePairs(100)}, "the budget of 1e[+]02"),
        ([np.eye(2)], {"loss": "clustering"}, "a partition has none"),
        (["s0"], {"loss": dm.kernels.gini()}, "takes no candidates"),
        (["s0"], {"loss": "kernel"}, "kernel of pairs"),
        (["s0"], {"loss": "squared", "pairs": "sampled"}, "for pairwise losses"),
    ],
)
def test_wrong_arguments_are_told(candidates: Any, options: dict[str, Any], words: str) -> None:
    given = {"target": "y", "features": FEATURES, "loss": "mahalanobis", "blocks": K, **options}
    target = given.pop("target")
    with pytest.raises(dm.ConfigError, match=words):
        dm.tournament(data(), candidates, target, rng=0, **given)


def test_too_many_losses_are_refused_before_a_row_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = lake(tmp_path)
    how: dict[str, Any] = {"loss": "ranking", "blocks": 5, "rng": 0}
    told = dm.explain(dm.tournament, folder, ["s0", "s1"], "y", **how)
    assert (told["n_rows"], told["n_losses"]) == (900, 2 * 10 * 90 * 89 // 2)

    def read(*_: Any, **__: Any) -> Any:
        raise AssertionError("nothing was to be read")

    monkeypatch.setattr(pair_oracle, "run_plan", read)
    less, enough = (dm.CompletePairs(told["n_losses"] - short) for short in (1, 0))
    for call in (partial(dm.explain, dm.tournament), dm.tournament):
        with pytest.raises(dm.ConfigError, match="the budget of"):
            call(folder, ["s0", "s1"], "y", pairs=less, **how)
    with pytest.raises(AssertionError, match="nothing was to be read"):
        dm.tournament(folder, ["s0", "s1"], "y", pairs=enough, **how)


def test_files_of_matrices_are_read_without_objects(tmp_path: Path) -> None:
    path = tmp_path / "good.npy"
    np.save(path, np.diag([0.5, 0.0]))
    found = dm.tournament(
        data(), [str(path), np.eye(2)], "y", loss="mahalanobis", features=FEATURES, rng=0, blocks=K
    )
    assert found.duels.names == ("good", "matrix 1")
    bad = tmp_path / "bad.npy"
    np.save(bad, np.array([[{"x": 1}]], object), allow_pickle=True)
    for name, text in ((bad, None), (tmp_path / "none.npy", None), (tmp_path / "text.npy", "hello")):
        if text is not None:
            name.write_text(text)
        with pytest.raises(dm.DataError, match="cannot be read as a matrix"):
            dm.tournament(data(), [str(name)], "y", loss="mahalanobis", features=FEATURES, rng=0)


def test_too_few_rows_are_told() -> None:
    few = {name: values[:3] for name, values in data().items()}
    with pytest.raises(dm.NoAnswerError, match="too few for 2 parts"):
        dm.tournament(few, ["s0"], "y", loss="ranking", rng=0)
    some = {name: values[:9] for name, values in data().items()}
    found = dm.tournament(some, ["s0", "s1"], "y", loss="ranking", rng=0, blocks=11)
    assert found.settings["blocks"] == [2, 2]
