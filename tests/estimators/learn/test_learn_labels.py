"""Labels of lakes: of any type, told apart exactly, whichever way the rows are read."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.errors import ConfigError, DataError, NoAnswerError

pytest.importorskip("sklearn")

from sklearn import datasets

KINDS: dict[str, Any] = {
    "int": lambda names, codes: codes.astype("i4"),
    "text": lambda names, codes: names[codes],
    "dictionary": lambda names, codes: pa.array(names[codes].tolist()).dictionary_encode(),
    "bool": lambda names, codes: codes > 0,
    "float": lambda names, codes: codes.astype("f4"),
}


def iris(kind: str = "text") -> pa.Table:
    found = datasets.load_iris()
    order = np.random.default_rng(0).permutation(150)
    X, codes = found.data[order], found.target[order]
    names = np.array([str(name) for name in found.target_names])
    return pa.table({**{f"f{j}": X[:, j] for j in range(4)}, "kind": KINDS[kind](names, codes)})


def written(table: pa.Table, folder: Path, n: int = 4) -> Path:
    folder.mkdir()
    size = -(-table.num_rows // n)
    for i in range(n):
        pq.write_table(table.slice(i * size, size), folder / f"{i}.parquet", row_group_size=20)
    return folder


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.one_in(6)
def test_a_classifier_knows_the_labels_of_a_lake_as_those_of_arrays(kind: str, tmp_path: Path) -> None:
    table = iris(kind)
    lake = written(table, tmp_path / "lake")
    frame = table.to_pandas()
    X, y = frame.drop(columns="kind"), frame["kind"].to_numpy()
    if kind == "dictionary":
        y = np.asarray(y, str)
    right = dm.RobustLogisticRegression(random_state=0, max_iter=40).fit(X, y)
    for data, options in ((lake, {}), (lake, {"mode": "streaming"}), (table, {})):
        found = dm.RobustLogisticRegression(random_state=0, max_iter=40).fit(data, "kind", **options)
        assert found.classes_.tolist() == right.classes_.tolist()
        assert found.classes_.dtype.kind == ("U" if kind in ("text", "dictionary") else y.dtype.kind)
        assert found.coef_.tobytes() == right.coef_.tobytes()
        assert (found.predict(X) == right.predict(X)).all() and found.score(X, y) > 0.85
    metric = dm.MahalanobisMetric(random_state=0, max_iter=30)
    right_metric = metric.fit(X, y).components_.tobytes()
    assert metric.fit(lake, "kind", mode="streaming").components_.tobytes() == right_metric


def test_rare_labels_are_classes_in_every_mode(tmp_path: Path) -> None:
    """Of 20,000 rows only the last has the third label: no sample would find it."""
    g = np.random.default_rng(0)
    y = np.where(np.arange(20_000) < 19_999, np.arange(20_000) % 2, 7)
    table = pa.table({"a": g.normal(size=20_000) + y, "y": y})
    lake = written(table, tmp_path / "lake", 2)
    models = [
        dm.RobustLogisticRegression(random_state=0, max_iter=20).fit(lake, "y", mode=mode)
        for mode in ("resident", "streaming")
    ]
    assert [m.classes_.tolist() for m in models] == [[0, 1, 7]] * 2
    assert models[0].coef_.tobytes() == models[1].coef_.tobytes()


def test_labels_that_are_missing_filtered_or_in_folders(tmp_path: Path) -> None:
    table = iris().append_column("w", pa.array(np.arange(150)))
    names = [None if i % 50 == 0 else name for i, name in enumerate(table["kind"].to_pylist())]
    table = table.set_column(4, "kind", pa.array(names, pa.string()))
    lake = written(table, tmp_path / "lake")
    options = {"columns": ["f0", "f1", "f2", "f3"]}
    found = dm.RobustLogisticRegression(random_state=0, max_iter=30).fit(lake, "kind", **options)
    assert found.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    two = dm.RobustLogisticRegression(random_state=0, max_iter=30)
    two.fit(lake, "kind", where="kind != 'setosa'", **options)
    assert two.classes_.tolist() == ["versicolor", "virginica"]
    assert two.coef_.shape == (1, 4)
    folders = tmp_path / "folders"
    for name in ("setosa", "virginica"):
        (folders / f"kind={name}").mkdir(parents=True)
        part = table.filter(pa.array([n == name for n in names])).drop_columns(["kind"])
        pq.write_table(part, folders / f"kind={name}" / "x.parquet")
    third = dm.RobustLogisticRegression(random_state=0, max_iter=30).fit(folders, "kind", **options)
    assert third.classes_.tolist() == ["setosa", "virginica"]
    with pytest.raises(DataError, match="y: there is one class only, 'setosa'"):
        two.fit(lake, "kind", where="kind = 'setosa'", **options)
    with pytest.raises(NoAnswerError, match="y: no row has a label"):
        two.fit(lake, "kind", where="w > 1000", **options)


def test_labels_that_are_none(tmp_path: Path) -> None:
    days = np.datetime64("2024-01-01") + np.arange(2000) % 3
    lake = written(pa.table({"a": np.arange(2000.0), "day": days, "b": np.arange(2000) / 3}), tmp_path / "l")
    model = dm.RobustLogisticRegression(random_state=0)
    with pytest.raises(DataError, match=r"'day' holds .*labels are numbers, true or false, or text"):
        model.fit(lake, "day")
    with pytest.raises(ConfigError, match="y: more than 1,000 classes; is 'b' a column of labels"):
        model.fit(lake, "b", columns="a")
    lake = written(iris(), tmp_path / "iris")
    with pytest.raises(DataError, match="column 'kind' is string"):  # outcomes and targets are numbers
        dm.PairwiseRanker(random_state=0).fit(lake, "kind")


def test_a_command_learns_from_text_labels(tmp_path: Path) -> None:
    lake = written(iris(), tmp_path / "lake")
    found = dm.train(
        lake, "classification", target="kind", options={"max_iter": 60}, rng=0, model=tmp_path / "model"
    )
    model = dm.load_model(tmp_path / "model")
    assert isinstance(model, dm.RobustLogisticRegression)
    assert model.classes_.tolist() == found.model.classes_.tolist()
    frame = pd.read_parquet(lake)
    assert model.score(frame.drop(columns="kind"), frame["kind"]) > 0.85
    assert dm.explain(dm.train, lake, "classification", target="kind")["target"] == "kind"
