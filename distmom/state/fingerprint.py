"""What a saved state depends on, and how two of them differ."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from distmom.errors import ConfigError
from distmom.numerics.random.philox import DRAW_VERSION

if TYPE_CHECKING:
    from distmom.lake import Filter

LAST = ("confidence_level", "candidates")
"""Named only if nothing else differs: matters for few designs, or differs as a consequence of others."""

HOW = frozenset({"compiled", "most_bytes", "batch_rows", "seed", "where", "times", "pool_bound"})
"""Fields of declarations that do not affect sums, or are compared separately."""

MOST_SAID, MOST_TEXT = 3, 300

DESIGNS = ("blocks", "pairs")
"""Names whose values are calls, shown without quotation marks."""

REMEDY = "use the same, or name another state"


@dataclass(frozen=True)
class Fingerprint:
    """What a state depends on besides its files, in plain words and values.

    Attributes
    ----------
    question : dict
        The question and its rows: states with different questions have nothing in common.
    design : dict
        The options for the method: blocks, rules, steps.
    sums : object
        The result of the design, if different options can lead to the same; else None.
    """

    question: dict[str, Any]
    design: dict[str, Any]
    sums: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.question, dict) or not isinstance(self.design, dict):
            raise TypeError("its question or design is not a table")

    @classmethod
    def of(
        cls, question: Mapping[str, Any], design: Mapping[str, Any], seed: int, shown_seed: int | str
    ) -> Fingerprint:
        """The form that is saved: with the seed and the version of the draws, and only JSON values."""
        drawn = {"version of the draws": DRAW_VERSION, "rng": shown(f"0x{seed:032x}", shown_seed)}
        return cls(plainly({**question, **drawn}), plainly(design))

    def with_sums(self, sums: Any) -> Fingerprint:
        """The same, with the result of the design."""
        return replace(self, sums=plainly(sums))

    @property
    def seed(self) -> tuple[int, int | str]:
        """The 128 bits of the seed, and its printed form in results."""
        rng = self.question["rng"]
        return int(rng["value"], 16), rng["shown"]


def shown(value: Any, text: Any) -> dict[str, Any]:
    """A value whose text in messages differs from the form that is compared."""
    return {"value": value, "shown": text}


def shown_filter(where: Filter | None) -> dict[str, Any]:
    """A filter, compared by its meaning."""
    return shown(None if where is None else where.identity, None if where is None else where.text)


def check_same(
    name: str,
    then: Fingerprint,
    now: Fingerprint,
    *,
    design: bool = True,
    second: str = "now",
    remedy: str = REMEDY,
) -> None:
    """Compare the fingerprint of a state with the present one.

    ConfigError names the options that differ, with both values.

    Parameters
    ----------
    name : str
        Name of the state in messages.
    design : bool
        Whether the designs must be the same too.
    second : str
        Name of the later one in the message.
    """
    found = list(_differences(then.question, now.question))
    if design:
        options = list(_differences(then.design, now.design))
        found += [one for one in options if one[0] not in LAST] or options
    if found:
        said = [f"{what} was {_said(what, a)}, {second} {_said(what, b)}" for what, a, b in found[:MOST_SAID]]
        said += [f"and {len(found) - MOST_SAID} more"] if len(found) > MOST_SAID else []
        raise ConfigError(f"{name} was made with other options: {'; '.join(said)}; {remedy}")
    if design and then.sums != now.sums:
        raise ConfigError(
            f"{name} was made by another version of distmom, whose sums cannot be continued; "
            "name another state"
        )


def _differences(then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Name and both values; a name that is missing in one of them is not a difference."""
    for name in now:
        if name not in then:
            continue
        before, after = then[name], now[name]
        if _is_shown(before) and _is_shown(after) and before["value"] != after["value"]:
            which = "shown" if before["shown"] != after["shown"] else "value"  # texts may be incomplete
            yield name, before[which], after[which]
        elif not _is_shown(after) and before != after:
            yield name, before, after


def _is_shown(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"value", "shown"}


def _said(name: str, value: Any) -> str:
    text = (", ".join(map(repr, value)) or "nothing") if isinstance(value, list) else repr(value)
    text = value if name in DESIGNS else text
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}…"


def plainly(value: Any, without: Collection[str] = HOW) -> Any:
    """Plain values, and frozen declarations without some fields, as JSON values.

    By default, the omitted fields are those that do not affect sums.
    """
    if is_dataclass(value) and not isinstance(value, type):
        names = [f.name for f in fields(value) if f.name not in without]
        return {"is": type(value).__name__, **{n: plainly(getattr(value, n), without) for n in names}}
    if isinstance(value, Mapping):
        return {name: plainly(inner, without) for name, inner in value.items()}
    if isinstance(value, (tuple, list)):
        return [plainly(item, without) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"a {type(value).__name__} cannot be described; make it a dataclass of plain values")


def from_plain(value: Any, kinds: Mapping[str, Callable[..., Any]]) -> Any:
    """Invert `plainly`, with declarations made by `kinds`; a Python error if the value is not valid."""
    if isinstance(value, list):
        return tuple(from_plain(item, kinds) for item in value)
    if isinstance(value, dict):
        return kinds[value["is"]](**{n: from_plain(v, kinds) for n, v in value.items() if n != "is"})
    return value
