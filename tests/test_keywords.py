"""Wrong calls of anything public: the name that was wrong, the nearest right one, and where help is."""

from __future__ import annotations

import inspect
import pickle
from typing import Any

import numpy as np
import pytest

import distmom as dm
from distmom.keywords import answering

MADE_BY_US = ("CandidateResult", "Results", "Scan", "Status", "kernels", "__version__")
PUBLIC = [
    name
    for name in dm.__all__
    if not name.endswith(("Result", "Error", "Warning", "Profile")) and name not in MADE_BY_US
]


def misspelt(call: Any) -> tuple[str, str] | None:
    """A parameter of several letters, and the same without its last but one."""
    kinds = inspect.Parameter
    named = [p.name for p in inspect.signature(call).parameters.values() if p.kind is not kinds.VAR_KEYWORD]
    long = [name for name in named if len(name) > 3]
    return (long[0], long[0][:-2] + long[0][-1]) if long else None


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_says_what_is_right(name: str) -> None:
    public = getattr(dm, name)
    pair = misspelt(public)
    if name in ("options", "explain") or pair is None:  # take any keyword; or none
        return
    right, wrong = pair
    with pytest.raises(TypeError) as found:
        public(**{wrong: 1})
    text = str(found.value)
    assert f"no parameter {wrong!r}" in text and f"did you mean {right!r}?" in text
    assert text.endswith(f"see help(dm.{name})") and "\n" not in text


@pytest.mark.parametrize("name", sorted(set(dm.kernels.__all__) - {"KERNELS", "Kernel", "named"}))
def test_kernels_too(name: str) -> None:
    with pytest.raises(TypeError, match=rf"no parameter 'widht'.*see help\(dm\.kernels\.{name}\)$"):
        getattr(dm.kernels, name)(widht=1)
    assert pickle.loads(pickle.dumps(getattr(dm.kernels, name))) is getattr(dm.kernels, name)


def test_a_misspelt_name_has_what_python_needs_to_suggest_another() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'meen'") as found:
        dm.meen  # type: ignore[attr-defined]  # noqa: B018
    assert (found.value.name, found.value.obj) == ("meen", dm) and "mean" in dir(dm)


def test_what_is_missing_or_too_much_is_told_by_name() -> None:
    missing = r"^mean\(\): missing a required argument: 'data'; see help\(dm.mean\)"
    with pytest.raises(TypeError, match=missing):
        dm.mean()  # type: ignore[call-overload]
    with pytest.raises(TypeError, match=r"^State\(\): missing a required argument: 'path'"):
        dm.State()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"^scan\(\): too many positional"):
        dm.scan("a", "b")  # type: ignore[misc]
    with pytest.raises(TypeError, match=r"seed: now rng=…"):
        dm.mean(np.zeros(9), seed=1)  # type: ignore[call-overload]
    with pytest.raises(dm.ConfigError, match=r"did you mean 'rng'\?"):
        dm.options(seed=1)
    with pytest.raises(dm.ConfigError, match=r"did you mean 'progress'\?"):
        dm.options(progres=True)


def test_objects_are_what_they_were() -> None:
    blocks = dm.RandomBlocks(5, chunk_rows=2)
    assert pickle.loads(pickle.dumps(blocks)) == blocks and repr(blocks) == "RandomBlocks(5, chunk_rows=2)"
    assert list(inspect.signature(dm.UnitBlocks).parameters) == ["columns", "n", "size"]
    assert pickle.loads(pickle.dumps(dm.scan)) is dm.scan
    assert answering(dm.scan) is dm.scan and answering(dm.RandomBlocks) is dm.RandomBlocks
    assert answering(np.abs) is np.abs  # no function of Python

    class Own(dm.RobustLinearRegression):  # a learner of a user's own, with a parameter of its own
        def __init__(self, *, more: int = 0) -> None:
            super().__init__()
            self.more = more

    assert Own(more=3).get_params()["more"] == 3
