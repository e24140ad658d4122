"""What is asked of a file or table, as SQL says what is right and as distmom answers it."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any, Literal, NamedTuple

Kind = Literal["number", "time", "text", "bool"]
Ask = Literal["describe", "mean", "where", "by"]

NUMBERS = {f"{sign}{name}" for sign in ("", "U") for name in ("TINYINT", "SMALLINT", "INTEGER", "BIGINT")}
NUMBERS |= {"FLOAT", "DOUBLE", "DECIMAL", "HUGEINT"}
TIMES = {"DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE"}
MOST_COLUMNS, MOST_KEYS, MOST_GROUPS = 40, 4, 2_000
CLOSE = 1e-9


class Question(NamedTuple):
    """One question: of a column, with the condition or the key where there is one.

    `name` is the column of the condition or the key; `value` what the column is compared with, as text.
    """

    ask: Ask
    column: str
    kind: Kind
    name: str = ""
    value: str = ""

    def __str__(self) -> str:
        more = {"where": f" where {self.name} … {self.value[:40]}", "by": f" by {self.name}"}
        return f"{self.ask} {self.column}{more.get(self.ask, '')}"


class Mean(NamedTuple):
    """Rows that are neither null nor NaN, their mean, that of their sizes; times in seconds since 1970."""

    n: int
    mean: float | None = None
    size: float | None = None


def quoted(name: str) -> str:
    """A name in SQL, and in conditions of distmom."""
    return '"' + name.replace('"', '""') + '"'


def kind_of(type_: str) -> Kind | None:
    """How columns of a type of SQL are asked for; None where they are not."""
    plain = type_.partition("(")[0]
    if plain in NUMBERS and not type_.endswith("]"):
        return "number"
    if type_ in TIMES:
        return "time"
    return {"VARCHAR": "text", "BOOLEAN": "bool"}.get(type_)  # type: ignore[return-value]


def condition(question: Question) -> str:
    """The condition of a question, in the language that SQL and distmom share."""
    name, value = quoted(question.name), question.value
    if question.kind == "number":
        return f"{name} > {value}"
    if question.kind == "bool":
        return f"{name} = {value}"
    text = "'" + value.replace("'", "''") + "'"
    return f"{name} {'=' if question.kind == 'text' else '>'} {text}"


def questions(run: Any, relation: str) -> Iterator[Question]:
    """What to ask of a relation: means of all columns that have one, a condition on each, groups by some."""
    described = run.execute(f"describe select * from {relation}").fetchall()
    kinds = {row[0]: (kind_of(row[1]), row[1]) for row in described}
    known = {name: kind for name, (kind, _) in kinds.items() if kind is not None}
    means = [name for name, kind in known.items() if kind != "text"][:MOST_COLUMNS]
    for name in means:
        yield Question("mean", name, known[name])
    if not means:
        return
    sound = [_finite(name, kinds[name][1]) for name in means]
    counts = run.execute(f"select {', '.join(sound)} from {relation}").fetchall()[0]
    n, _, column = max(zip(counts, range(0, -len(means), -1), means, strict=True))
    if n < 0:  # infinities in every column
        return
    for name, kind in list(known.items())[:MOST_COLUMNS]:
        try:
            (found,) = run.execute(
                f"select quantile_disc({quoted(name)}, 0.5)::varchar from {relation} "
                + (f"where not isnan({quoted(name)})" if kinds[name][1] in ("FLOAT", "DOUBLE") else "")
            ).fetchall()[0]
        except Exception:
            continue
        if found is None or "\0" in found:
            continue
        if kinds[name][1] in ("FLOAT", "DOUBLE"):
            found = _exact(found, kinds[name][1])
            if not found:
                continue
        yield Question("where", column, kind, name, found)
    keys = [name for name in known if name != column and kinds[name][1] not in ("FLOAT", "DOUBLE")]
    texts = [name for name in keys if known[name] == "text"]
    others = [name for name in keys if known[name] != "text" and not kinds[name][1].startswith("TIMESTAMP")]
    for name in [*texts[: MOST_KEYS // 2], *others[: MOST_KEYS // 2]]:
        yield Question("by", column, known[column], name)


def _finite(name: str, type_: str) -> str:
    """How many values a column has, in SQL; -1 where some are infinite: then a mean is no answer."""
    if type_ not in ("FLOAT", "DOUBLE"):
        return f"count({quoted(name)})"
    return f"if(bool_or(isinf({quoted(name)})), -1, count({quoted(name)}))"


def _exact(text: str, type_: str) -> str:
    """A float as a number without exponent that is exactly it; none for infinities."""
    import numpy as np

    value = float(np.float32(text)) if type_ == "FLOAT" else float(text)
    return np.format_float_positional(value, trim="-") if math.isfinite(value) else ""


def right(run: Any, relation: str, question: Question) -> Any:
    """What SQL says: a `Mean`, rows that meet a condition, or the rows of each key."""
    column = quoted(question.column)
    described = run.execute(f"describe select {column} from {relation}").fetchall()[0][1]
    floating = described in ("FLOAT", "DOUBLE")
    valid = f"{column} is not null" + (f" and not isnan({column})" if floating else "")
    if question.ask == "mean":
        if kind_of(described) == "time":
            ticks = f"epoch_ns({column})" if described == "TIMESTAMP_NS" else f"epoch_us({column})"
            per = 1e9 if described == "TIMESTAMP_NS" else 1e6
            n, total, n_all = run.execute(
                f"select count(v), sum(v::hugeint)::varchar, count(*) from (select {ticks} as v "
                f"from {relation} where {column} is not null)"
            ).fetchall()[0]
            if n < n_all:
                raise ValueError("DuckDB takes the first and the last time there is for infinities")
            mean = int(total) / (n * per) if n else None
            return Mean(n, mean, abs(mean or 0.0))
        x = f"{column}::double"
        if described == "BOOLEAN":
            x = f"{column}::int::double"
        n, mean, size = run.execute(
            f"select count(v), fsum(v) / count(v), fsum(abs(v)) / count(v) from (select {x} as v "
            f"from {relation} where {valid})"
        ).fetchall()[0]
        return Mean(n, mean, size)
    if question.ask == "where":
        kinds = run.execute(f"describe select {quoted(question.name)} from {relation}").fetchall()[0][1]
        cast = "::double" if kinds in ("FLOAT", "DOUBLE") else ""
        return run.execute(
            f"select count(*) from {relation} where {condition(question)}{cast} and {valid}"
        ).fetchall()[0][0]
    key = quoted(question.name)
    found = run.execute(
        f"select {key}, count(*) from {relation} where {valid} group by 1 limit {MOST_GROUPS + 1}"
    ).fetchall()
    if len(found) > MOST_GROUPS:
        raise ValueError("more groups than are compared")
    return dict(found)


def answer(data: Any, question: Question) -> Any:
    """What distmom says of the same, in the same form."""
    import distmom as dm

    one = dm.RandomBlocks(1)
    try:
        if question.ask == "mean":
            mean = dm.mean(data, question.column, blocks=one)
            plain = mean.plain_estimate
            return Mean(_n(mean), _seconds(mean.numbers.plain_estimate / 1e9 if plain is None else plain))
        if question.ask == "where":
            return _n(dm.mean(data, question.column, where=condition(question), blocks=one))
        groups = dm.mean(data, question.column, by=question.name, blocks=one)
    except dm.NoAnswerError:
        return {"mean": Mean(0), "where": 0, "by": {}}[question.ask]
    except dm.ConfigError as error:
        value = question.value  # in UTC, as the oracles say it, or without a zone
        if "write date, time and offset" in str(error) and not value.endswith(("Z", "+00")):
            return answer(data, question._replace(value=value + "Z"))
        if "without its offset" in str(error) and value.endswith("+00"):
            return answer(data, question._replace(value=value.removesuffix("+00")))
        raise
    found = {group.group[question.name]: _n(group) for group in groups if _n(group)}
    return {key.decode() if isinstance(key, bytes) else key: n for key, n in found.items()}  # enumerations


def _n(result: Any) -> int:
    """Rows with a value, also those that the robust mean sets aside."""
    return int(result.n_rows - result.n_null - result.n_nan)


def _seconds(value: Any) -> float:
    if isinstance(value, datetime):
        aware = value if value.tzinfo is not None else value.replace(tzinfo=UTC)
        return (aware - datetime(1970, 1, 1, tzinfo=UTC)) / timedelta(seconds=1)
    if isinstance(value, date):
        return (value - date(1970, 1, 1)) / timedelta(seconds=1)
    return float(value)


def same(question: Question, ours: Any, theirs: Any) -> bool:
    """Whether two answers are one but for rounding."""
    if question.ask == "describe":
        return bool(ours == theirs.n)
    if question.ask != "mean":
        return bool(ours == theirs)
    if not ours.n and theirs.n and not math.isfinite(theirs.mean):
        return True  # infinities have no mean
    if ours.n != theirs.n:
        return False
    if not ours.n:
        return True
    if not math.isfinite(theirs.mean):
        return not math.isfinite(ours.mean) or math.isnan(theirs.mean)
    scale = max(abs(theirs.mean), theirs.size or 0.0, 1e-300)
    return abs(ours.mean - theirs.mean) <= max(CLOSE * scale, 1e-6 if question.kind == "time" else 0.0)
