"""Metrics of metric-learn."""

from collections.abc import Callable
from typing import Any


def metric_learn() -> Any:
    """The package, which calls an argument of scikit-learn by the name that it had before version 1.8."""
    import metric_learn as ml
    from metric_learn import _util

    for name in ("check_array", "check_X_y"):
        checked = getattr(_util, name)
        if getattr(checked, "renamed", False):
            continue

        def renamed(*words: Any, checked: Callable[..., Any] = checked, **named: Any) -> Any:
            if "force_all_finite" in named:
                named["ensure_all_finite"] = named.pop("force_all_finite")
            return checked(*words, **named)

        renamed.renamed = True  # type: ignore[attr-defined]
        setattr(_util, name, renamed)
    return ml
