"""Results keep the call that made them, so that a report can tell how to run it again."""

from __future__ import annotations

import inspect
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from distmom.cluster.executors.backends import Backend
from distmom.designs.design import BlockDesign
from distmom.designs.pairs import PairDesign
from distmom.lake.messages import plain_address
from distmom.passes.scan import Scan
from distmom.report.again import Again

UNTOLD = frozenset(("executor",))
"""Arguments that mean nothing elsewhere, or may hold secrets."""

MOST = 20
"""Members of a list or mapping that are kept."""


def record(
    function: str, found: Any, given: Mapping[str, Any], parameters: Mapping[str, inspect.Parameter]
) -> None:
    """Let ``run["call"]`` have the function and the arguments that are no defaults, ``data`` the source.

    Where no seed was given, the drawn one stands there, so that the call repeats the result. ``code`` is the
    call as Python; ``run["again"]`` has its parts.
    """
    run = getattr(found, "run", None)
    if not isinstance(run, dict):
        return
    kept = {
        name: value
        for name, value in given.items()
        if name not in UNTOLD and not _default(value, parameters[name].default)
    }
    seed = {"rng": run.get("seed")}
    words = {name: plainly(value) for name, value in kept.items()} | seed
    if isinstance(given.get("data"), Scan) and given["data"].where is not None:
        words.setdefault("where", plainly(given["data"].where))
    found.data.update(source=words.get("data"), where=words.get("where"))
    positional = [n for n, p in parameters.items() if p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD]
    texts, gap = [], False
    for name, value in {**kept, **seed}.items():
        gap = gap or name not in positional
        texts.append(code(value) if not gap else f"{name}={code(value)}")
    run["again"] = again = _again(function, given.get("data"), texts)
    run["call"] = {"function": function, "arguments": words, "code": again.python()}


def _again(function: str, data: Any, texts: Sequence[str]) -> Again:
    """The call in its parts, of which the first of the `texts` is the data."""
    scan = data if isinstance(data, Scan) else None
    of = data if scan is None else scan.data
    return Again(
        f"dm.{function}(",
        texts[0] if scan is None else code(of),
        "".join(f", {text}" for text in texts[1:]) + ")",
        () if scan is None else _scan_words(scan),
        () if scan is None else scan.exclude,
        isinstance(of, os.PathLike) or (isinstance(of, str) and not of.startswith("@")),
    )


def _scan_words(scan: Scan) -> tuple[str, ...]:
    """How a scan reads, as arguments of ``dm.scan``: without defaults and the files that it leaves out."""
    given = {
        f.name: getattr(scan, f.name)
        for f in fields(scan)
        if f.repr and f.name not in ("data", "exclude") and getattr(scan, f.name) is not f.default
    }
    return tuple(f"{name}={code(value)}" for name, value in given.items() if value is not None)


def _default(value: Any, default: Any) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


def plainly(value: Any) -> Any:
    """Numbers and texts, lists and mappings of them; the type of anything else in angle brackets.

    Examples
    --------
    >>> plainly(["a", 1, {"b": object()}]), plainly("s3://me:secret@lake?token=x")
    (['a', 1, {'b': '<object>'}], 's3://lake?token=...')
    """
    if isinstance(value, Scan):
        return plainly(value.data)
    if isinstance(value, (BlockDesign, PairDesign)) or type(value).__module__.startswith("distmom.designs"):
        return repr(value)
    if isinstance(value, os.PathLike):
        value = os.fspath(value)
    if isinstance(value, str):
        return plain_address(value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (list, tuple)):
        more = [f"... and {len(value) - MOST:,} more"] if len(value) > MOST else []
        return [plainly(v) for v in value[:MOST]] + more
    if type(value) is dict or (isinstance(value, Mapping) and len(value) <= MOST):
        return {str(k): plainly(v) for k, v in list(value.items())[:MOST]}
    name = getattr(value, "name", None)
    if is_dataclass(value) and not fields(value) and isinstance(name, str):
        return name  # a kernel of the catalogue without parameters
    return f"<{type(value).__name__}>"


def code(value: Any) -> str:
    """A value as it would be written in Python; objects that have no such text in angle brackets."""
    if isinstance(value, Scan):
        return Again(data=code(value.data), scan=_scan_words(value), exclude=value.exclude).python()
    if isinstance(value, (list, tuple)) and len(value) <= MOST and any(isinstance(v, Scan) for v in value):
        return f"[{', '.join(map(code, value))}]"
    if type(value).__module__.startswith("distmom.designs") or isinstance(value, Backend):
        return f"dm.{value!r}"
    if type(value) is dict and len(value) <= MOST:
        return f"{{{', '.join(f'{k!r}: {code(v)}' for k, v in value.items())}}}"
    plain = plainly(value)
    if isinstance(plain, str) and plain.startswith("<") and not isinstance(value, (str, os.PathLike)):
        return plain
    if isinstance(plain, dict):
        return f"{{{', '.join(f'{k!r}: {code(v)}' for k, v in zip(plain, value.values(), strict=False))}}}"
    return repr(plain)
