"""`distmom.plan`: ways side by side, one recommended; errors in one line."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import distmom as dm
from distmom.cli.program import program


def test_the_defaults_are_recommended_for_clean_data() -> None:
    found = dm.plan(10**6)
    assert found.recommended.options == {}
    assert len(found) == 5 and found.recommended in list(found)


def test_what_is_planned_for_contamination_is_what_the_mean_takes() -> None:
    found = dm.plan(10**5, contamination=0.0001)
    assert found.contamination == 10
    assert found.recommended.options == {"contamination": 10}
    by_name = {way.name: way for way in found}
    assert by_name["partition, automatic"].exact is None
    assert by_name["partition, paper"].exact == float("inf")


def test_planned_blocks_are_those_of_a_run() -> None:
    x = np.random.default_rng(0).normal(size=10_000)
    for way in [*dm.plan(x.size), *dm.plan(x.size, contamination=0.001)]:
        found = dm.mean(x, rng=0, **way.options)
        assert found.n_blocks == way.n_blocks, way.name


@pytest.mark.parametrize("contamination", [None, 10])
def test_widths_are_those_of_a_run(contamination: int | None) -> None:
    """The exact half-width in units of the estimated standard deviation is the planned one, within 5 %."""
    x = np.random.default_rng(0).normal(size=100_000)
    for way in dm.plan(x.size, tau=0.3, contamination=contamination):
        if way.exact is not None and np.isfinite(way.exact):
            found = dm.mean(x, interval="exact", rng=0, **way.options)
            assert found.interval is not None
            half = (found.interval[1] - found.interval[0]) / 2 / x.std()
            assert half == pytest.approx(way.exact, rel=0.05), way.name


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_rows": 0}, ["n_rows", "0"]),
        ({"n_rows": 1.5}, ["n_rows", "1.5"]),
        ({"n_rows": 100, "confidence_level": 1.0}, ["confidence_level", "1.0"]),
        ({"n_rows": 100, "tau": 0.5}, ["tau", "0.5"]),
        ({"n_rows": 100, "width": 0.0}, ["width", "0.0"]),
        ({"n_rows": 100, "contamination": 0.7}, ["contamination", "0.7"]),
        ({"n_rows": 100, "contamination": 50}, ["contamination", "50", "49"]),
        ({"n_rows": 2}, ["rows"]),
    ],
    ids=str,
)
def test_wrong_arguments_end_in_one_line(options: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(dm.ConfigError) as caught:
        dm.plan(**options)
    text = str(caught.value)
    assert "\n" not in text and all(word in text for word in words), text


def test_table_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = dm.plan(1e9, contamination=10, width=0.001)
    text = str(found)
    assert "1,000,000,000 rows" in text and "36 n" in text and "contamination=10" in text
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["recommended"]["n_blocks"] == 59
    assert told["ways"][3]["options"] == {"blocks": "RandomBlocks(repeats=5)"}
    assert program.run(["plan", "1e9", "--contamination", "10", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["plan"]["recommended"]["n_blocks"] == 59 and len(document["results"]) == len(found)
    assert program.run(["plan", "many"]) == 2
    assert "is not a whole number" in capsys.readouterr().err
