"""States of disjoint lakes: merged in any grouping, shown without the data; no row counts twice."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flat import flat
from mean_lakes import results, same, write
from state_lakes import close, flat_lake, interrupted, refused, some_files

import distmom as dm
from distmom.estimators.mean.state import KIND, SavedMean
from distmom.state import Saved
from distmom.state.state import read_state, write_state

OPTIONS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "groups": {"by": "key"},
    "two columns": {"column": ["x", "y"], "by": ["name", "key"], "where": "u > 0.2"},
    "files": {"column": "y", "block_by": "file"},
    "units": {"column": "y", "block_by": ["u"], "by": "key"},
    "chunks": {"chunk_rows": 7},
    "seven blocks": {"n_blocks": 7},
    "repeated": {"repeats": 2},
    "paper": {"n_blocks": "paper", "interval": "closed-form"},
}
FIXED = {"swor": {"scheme": "swor", "n_blocks": 5, "block_size": 20}, "stored": {"order": "stored"}}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return flat_lake(tmp_path_factory.mktemp("merge") / "lake")


def mean(data: Any, state: Path, **options: Any) -> Any:
    return flat(dm.mean)(data, **{"column": "x", "rng": 7, "state": state, **options})


def files(lake: Path, numbers: Any) -> list[Path]:
    return [lake / f"{number:03}.parquet" for number in numbers]


@pytest.mark.parametrize("options", [*OPTIONS.values(), *FIXED.values()], ids=[*OPTIONS, *FIXED])
def test_one_state_is_shown_as_it_was_made(lake: Path, tmp_path: Path, options: dict[str, Any]) -> None:
    right = mean(lake, tmp_path / "s", **options)
    found = dm.merge_states(tmp_path / "s")
    assert same(found, right)
    assert dm.Results.of(found).run["seed"] == 7
    assert dm.Results.of(found).data["n_files"] == 11


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.one_in(6)
def test_parts_of_one_folder_give_its_mean_in_any_order_and_grouping(
    lake: Path, tmp_path: Path, options: dict[str, Any]
) -> None:
    states = []
    for name, numbers in (("a", (0, 5, 9)), ("b", (1, 2, 3, 8)), ("c", (4, 6, 7, 10))):
        states.append(tmp_path / name)
        mean(files(lake, numbers), states[-1], **options)
    right = flat(dm.mean)(lake, **{"column": "x", "rng": 7, **options})
    together = dm.merge_states(*states, output=tmp_path / "all")
    close(together, right)
    assert dm.Results.of(together).data["n_files"] == 11
    for order in itertools.permutations(states):
        assert same(dm.merge_states(*order), together)
    assert same(dm.merge_states(tmp_path / "all"), together)
    dm.merge_states(states[2], states[0], output=tmp_path / "two")
    close(dm.merge_states(tmp_path / "two", states[1]), together)


def test_a_merged_state_of_one_folder_goes_on(lake: Path, tmp_path: Path) -> None:
    for name, numbers in (("a", (0, 5)), ("b", (1, 2, 3, 8))):
        mean(files(lake, numbers), tmp_path / name)
    dm.merge_states(tmp_path / "a", tmp_path / "b", output=tmp_path / "a")
    found = mean(lake, tmp_path / "a")
    close(found, dm.mean(lake, "x", rng=7))
    assert (found.data["state"]["n_files_before"], found.data["state"]["n_files_read"]) == (6, 5)


def test_lakes_in_different_folders(lake: Path, tmp_path: Path) -> None:
    folders = []
    for number, name in enumerate(("east", "west")):
        g = np.random.default_rng(number)
        folders.append(tmp_path / name)
        for i in range(7):
            write(folders[-1] / f"{i}.parquet", {"x": g.normal(number, 1.0, 50)})
        mean(folders[-1], tmp_path / f"{name}.state")
    found = dm.merge_states(tmp_path / "west.state", tmp_path / "east.state", output=tmp_path / "both")
    assert (found.n_rows, found.n_blocks) == (700, 9)
    assert abs(found.estimate - 0.5) < 0.3
    assert same(found, dm.merge_states(tmp_path / "both"))
    refused(
        dm.ConfigError,
        ["folder of the files", str(folders[0]), str(folders[1])],
        lambda: mean(folders[0], tmp_path / "both"),
    )


def test_files_that_would_count_twice(lake: Path, tmp_path: Path) -> None:
    mean(files(lake, (0, 1, 2, 3)), tmp_path / "a")
    mean(files(lake, (2, 3, 4)), tmp_path / "b")
    mean(lake.parent, tmp_path / "above", where="u >= 0")
    mean(lake, tmp_path / "whole", where="u >= 0")
    words = ["'a'", "'b'", str(lake / "002.parquet"), "(2 such files)", "twice"]
    words = [w.replace("'a'", str(tmp_path / "a")).replace("'b'", str(tmp_path / "b")) for w in words]
    refused(dm.DataError, words, lambda: dm.merge_states(tmp_path / "a", tmp_path / "b"))
    refused(dm.DataError, ["twice", "(4 such"], lambda: dm.merge_states(tmp_path / "a", tmp_path / "a"))
    refused(
        dm.DataError, ["(11 such files)"], lambda: dm.merge_states(tmp_path / "above", tmp_path / "whole")
    )
    dm.merge_states(tmp_path / "a", output=tmp_path / "copy")
    refused(dm.DataError, ["(4 such"], lambda: dm.merge_states(tmp_path / "a", tmp_path / "copy"))


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"blocks": 5}, ["blocks was RandomBlocks(), in state STATE RandomBlocks(5)"]),
        ({"rng": 8}, ["rng was 7, in state STATE 8"]),
        ({"by": "key"}, ["by was nothing, in state STATE 'key'"]),
        (
            {"blocks": dm.UnitBlocks("u")},
            ["other options: blocks was RandomBlocks(), in state STATE UnitBlocks('u'); only"],
        ),
        (
            {"blocks": dm.RandomBlocks(chunk_rows=5)},
            ["blocks was RandomBlocks(), in state STATE RandomBlocks(chunk_rows=5)"],
        ),
        ({"where": "u > 0"}, ["where was None, in state STATE 'u > 0'"]),
        ({"blocks": dm.StoredBlocks()}, ["blocks was RandomBlocks(), in state STATE StoredBlocks()"]),
        ({"column": "y"}, ["columns was 'x', in state STATE 'y'"]),
    ],
    ids=str,
)
def test_states_made_differently(lake: Path, tmp_path: Path, other: dict[str, Any], words: list[str]) -> None:
    mean(files(lake, (0, 1)), tmp_path / "a")
    mean(files(lake, (2, 3)), tmp_path / "b", **other)
    words = [word.replace("STATE", repr(str(tmp_path / "b"))) for word in words]
    refused(dm.ConfigError, words, lambda: dm.merge_states(tmp_path / "a", tmp_path / "b"))


@pytest.mark.parametrize("options", FIXED.values(), ids=FIXED)
def test_blocks_that_depend_on_the_number_of_rows(
    lake: Path, tmp_path: Path, options: dict[str, Any]
) -> None:
    mean(files(lake, (0, 1)), tmp_path / "a", **options)
    mean(files(lake, (2, 3)), tmp_path / "b", **options)
    refused(
        dm.ConfigError,
        ["depend on the number of rows"],
        lambda: dm.merge_states(tmp_path / "a", tmp_path / "b"),
    )


def test_the_answer_may_be_shaped_anew(lake: Path, tmp_path: Path) -> None:
    mean(lake, tmp_path / "s")
    for asked in ({"confidence_level": 0.9}, {"interval": "cantelli"}, {"interval": "none"}):
        assert same(dm.merge_states(tmp_path / "s", **asked), dm.mean(lake, "x", rng=7, **asked))
    refused(
        dm.ConfigError, ["states", "each must be a path", "list"], lambda: dm.merge_states([tmp_path / "s"])
    )
    refused(dm.ConfigError, ["interval"], lambda: dm.merge_states(tmp_path / "s", interval="narrow"))
    refused(
        dm.ConfigError, ["confidence_level"], lambda: dm.merge_states(tmp_path / "s", confidence_level=2.0)
    )
    mean(lake, tmp_path / "p", n_blocks="paper")
    refused(
        dm.ConfigError,
        ["confidence level decides"],
        lambda: dm.merge_states(tmp_path / "p", confidence_level=0.9),
    )
    mean(files(lake, (0, 1)), tmp_path / "a")
    mean(files(lake, (2, 3)), tmp_path / "b", confidence_level=0.9)
    words = ["confidence_level", "0.99", "0.9", "say which"]
    refused(dm.ConfigError, words, lambda: dm.merge_states(tmp_path / "a", tmp_path / "b"))
    assert (
        results(dm.merge_states(tmp_path / "a", tmp_path / "b", confidence_level=0.9))[0].confidence_level
        == 0.9
    )


def test_what_cannot_be_shown(lake: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from mean_lakes import cut_work

    refused(dm.ConfigError, ["states"], lambda: dm.merge_states())
    refused(dm.DataError, ["state", "No such file"], lambda: dm.merge_states(tmp_path / "none"))
    cut_work(monkeypatch, max_files=1)
    assert interrupted(lake, tmp_path / "half", 3, column="x", rng=7, threads=1)
    words = ["is incomplete", "8 of its files", "003.parquet"]
    refused(dm.DataError, words, lambda: dm.merge_states(tmp_path / "half"))
    mean(lake, tmp_path / "s")
    refused(
        dm.ConfigError,
        ["output", "no folder"],
        lambda: dm.merge_states(tmp_path / "s", output=tmp_path / "no" / "s"),
    )


def test_skipped_files_are_told(lake: Path, tmp_path: Path) -> None:
    some = some_files(lake, tmp_path / "lake", range(5))
    (some / "001.parquet").write_bytes(b"none")
    right = mean(some, tmp_path / "s", on_bad_file="skip")
    found = dm.merge_states(tmp_path / "s")
    assert same(found, right) and found.data["skipped"] == right.data["skipped"] != []


def test_a_state_of_another_kind_or_version(lake: Path, tmp_path: Path) -> None:
    from dataclasses import replace

    mean(lake, tmp_path / "s")
    whole = read_state(tmp_path / "s")
    write_state(tmp_path / "kind", replace(whole, kind="tournament"))
    refused(dm.DataError, ["is of kind 'tournament', not 'mean'"], lambda: mean(lake, tmp_path / "kind"))
    saved = SavedMean.of(Saved.of(whole, KIND, "it"), "it")
    saved.sums["leaf_rows"] = 7
    write_state(tmp_path / "version", saved.saved().container())
    for act in (lambda: mean(lake, tmp_path / "version"), lambda: dm.merge_states(tmp_path / "version")):
        refused(dm.ConfigError, ["another version"], act)
    for name in ("fingerprint", "own", *whole.facts["own"]):
        facts = {key: value for key, value in whole.facts.items() if key != name}
        facts["own"] = {key: value for key, value in whole.facts["own"].items() if key != name}
        if name == "own":
            del facts["own"]
        write_state(tmp_path / "facts", replace(whole, facts=facts))
        refused(dm.DataError, ["expects"], lambda: mean(lake, tmp_path / "facts"))
    for name in list(whole.arrays)[::7]:
        arrays = {key: value for key, value in whole.arrays.items() if key != name}
        write_state(tmp_path / "arrays", replace(whole, arrays=arrays))
        refused(dm.DataError, ["expects", name.removeprefix("own/")], lambda: mean(lake, tmp_path / "arrays"))


def test_a_state_that_is_whole_but_wrong_is_refused(lake: Path, tmp_path: Path) -> None:
    """Whoever writes a state himself gets an error or wrong numbers, not a crash, and no memory he likes."""
    from dataclasses import replace

    mean(lake, tmp_path / "s", by="key")
    whole = read_state(tmp_path / "s")

    def wrong(facts: dict[str, Any], arrays: dict[str, Any], words: str) -> None:
        mine = {
            "facts": whole.facts | {"own": whole.facts["own"] | facts},
            "arrays": {**whole.arrays, **arrays},
        }
        write_state(tmp_path / "w", replace(whole, **mine))
        refused(dm.DataError, ["does not hold", words], lambda: mean(lake, tmp_path / "w", by="key"))
        refused(dm.DataError, ["does not hold", words], lambda: dm.merge_states(tmp_path / "w"))

    nodes = whole.facts["own"]["nodes"]
    for level, index in ((10**12, 0), (-1, 0), (3, 10**9), (True, 0), (3, None)):
        wrong({"nodes": [[0, -1, 0, level, index, nodes[0][5]], *nodes[1:]]}, {}, "not a number")
    wrong({"numbered": [10**15, 0]}, {}, "not a number")
    wrong({"nodes": [[0, 10**9, 1, 0, 0, nodes[0][5]], *nodes[1:]]}, {}, "not a number")
    sample = {"is": "RowSample", "of": {"keys": "array", "values": "array"}}
    its = {f"own/nodes.0.5.{name}": np.zeros((1, 2)) for name in ("keys", "values")}
    wrong({"nodes": [[*nodes[0][:5], sample]]}, its, "not a state")
    first = "own/nodes.0.5"
    for field in ("moments.count", "moments.mean", "counts", "n_rows", "samples.0.keys"):
        name = f"{first}.{field}"
        wrong({}, {name: whole.arrays[name][..., :-1]}, "fit each other")
    shorter = {name: a[..., :-1] for name, a in whole.arrays.items() if ".moments." in name}
    wrong({}, shorter, "what it says")
    wrong({}, {name: a for name, a in shorter.items() if name.startswith(first)}, "differ in size")


def test_every_byte_of_a_state_is_guarded(lake: Path, tmp_path: Path) -> None:
    """Altered or cut at any byte, a real state is refused."""
    options = {"scheme": "swor", "n_blocks": 3, "block_size": 20}
    some = some_files(lake, tmp_path / "lake", range(2))
    mean(some, tmp_path / "s", **options)
    from distmom.state.container import read_container

    whole = (tmp_path / "s").read_bytes()
    assert read_container(whole, "it").kind == "mean"
    for i in range(len(whole)):
        altered = bytearray(whole)
        altered[i] ^= 0x20
        for wrong in (bytes(altered), whole[:i]):
            with pytest.raises(dm.DataError):
                read_container(wrong, "it")
    for i in range(0, len(whole), 997):
        (tmp_path / "s").write_bytes(whole[:i])
        refused(dm.DataError, ["state", "delete it"], lambda: mean(some, tmp_path / "s", **options))
        refused(
            dm.DataError,
            ["state", "delete it"],
            lambda: mean(some, tmp_path / "s", on_change="restart", **options),
        )
        assert (tmp_path / "s").read_bytes() == whole[:i]
