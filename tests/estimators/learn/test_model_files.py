"""Models as files: all learners come back as they were, and nothing in a file is executed or believed."""

import errno
import json
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

import distmom as dm
from distmom.errors import ConfigError, DataError

pytest.importorskip("sklearn")


def fitted():
    g = np.random.default_rng(0)
    X, y = g.normal(size=(300, 2)), np.arange(300) % 3
    return X, [
        dm.MahalanobisMetric(random_state=0, max_iter=20, init=np.eye(2)).fit(X, y),
        dm.PairwiseRanker(random_state=0, max_iter=20).fit(X, X[:, 0]),
        dm.RobustKMeans(3, random_state=0, max_iter=20).fit(X),
        dm.RobustLinearRegression(random_state=0, max_iter=20).fit(X, X[:, 0]),
        dm.RobustLogisticRegression(random_state=0, max_iter=20).fit(X, np.array(["a", "b", "c"])[y]),
    ]


def test_all_learners_come_back(tmp_path):
    X, models = fitted()
    for model in models:
        dm.save_model(model, tmp_path / "m")
        back = dm.load_model(tmp_path / "m")
        assert type(back) is type(model)
        use = "transform" if hasattr(model, "transform") else "predict"
        assert (getattr(back, use)(X) == getattr(model, use)(X)).all()
        assert back.history_["block"].tolist() == model.history_["block"].tolist()
        if hasattr(back, "partial_fit"):
            with pytest.raises(ConfigError, match="from a file"):
                back.partial_fit(X, np.arange(len(X)) % 2)
        assert pickle.loads(pickle.dumps(model)).n_iter_ == model.n_iter_  # scikit-learn's own way works, too


def test_a_model_stands_until_the_next_one_is_whole(tmp_path, monkeypatch):
    X, [metric, *others] = fitted()
    before = os.umask(0o027)
    try:
        dm.save_model(metric, tmp_path / "m")
    finally:
        os.umask(before)
    assert (tmp_path / "m").stat().st_mode & 0o777 == 0o750
    write, replace = np.save, Path.replace

    def full(path, array, **more):
        write(path, array[:0], **more)
        raise OSError(errno.ENOSPC, "No space left on device")

    def refused(self, target):
        if self.name == "model":
            raise OSError(errno.EACCES, "Permission denied")
        return replace(self, target)

    for module, name, wrong in ((np, "save", full), (Path, "replace", refused)):
        with monkeypatch.context() as patch, pytest.raises(dm.ResourceError, match="could not be written"):
            patch.setattr(module, name, wrong)
            dm.save_model(others[-1], tmp_path / "m")
        assert (dm.load_model(tmp_path / "m").transform(X) == metric.transform(X)).all()
        assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_what_is_no_model_is_refused(tmp_path):
    _, [metric, *_] = fitted()
    with pytest.raises(ConfigError, match="has not been fitted"):
        dm.save_model(dm.MahalanobisMetric(), tmp_path / "m")
    with pytest.raises(ConfigError, match="must be a learner"):
        dm.save_model(object(), tmp_path / "m")
    (tmp_path / "full").mkdir()
    with pytest.raises(ConfigError, match="holds no model"):
        dm.save_model(metric, tmp_path / "full")
    with pytest.raises(DataError, match="cannot be read"):
        dm.load_model(tmp_path / "m")
    dm.save_model(metric, tmp_path / "m")
    path = tmp_path / "m" / "model.json"
    good = json.loads(path.read_text())
    for change in (
        {"class": "os.system"},
        {"schema_version": 9},
        {"learned": {"fit": 1}},
        {"learned": {"__class__": 1}},
        {"arrays": ["../../x"]},
        {"parameters": {"nothing": 1}},
    ):
        path.write_text(json.dumps(good | change))
        with pytest.raises(DataError, match="damaged or was not written by distmom"):
            dm.load_model(tmp_path / "m")
    path.write_text(json.dumps(good))
    np.save(tmp_path / "m" / "components_.npy", np.array([{}], object))
    with pytest.raises(DataError, match="damaged"):
        dm.load_model(tmp_path / "m")
