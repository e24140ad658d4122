from __future__ import annotations

import datetime
import math
import pickle
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distmom as dm
from distmom.errors import ConfigError, DataError
from distmom.lake import ReadOptions, as_filter, open_lake, parse_filter

TABLE = pa.table(
    {
        "i": pa.array([0, 1, -2, None, 2**62, 7, 3, 3], pa.int64()),
        "small": pa.array([0, 1, -128, 127, None, 7, 3, 3], pa.int8()),
        "u": pa.array([0, 1, 2**64 - 1, None, 2**53 + 1, 7, 3, 3], pa.uint64()),
        "f": pa.array([0.0, -0.0, math.nan, math.inf, None, 2.5, 3.0, -1e300]),
        "f4": pa.array([0.5, 0.1, math.nan, math.inf, None, 2.5, 3.0, -1.0], pa.float32()),
        "d": pa.array(["0.00", "0.10", "-2.50", None, "99.99", "7", "3", "3.01"]).cast(pa.decimal128(4, 2)),
        "s": pa.array(["", "a", "A", None, "größe", "it's", "3", "b"]),
        "b": pa.array([True, False, None, True, False, True, None, False]),
        "n": pa.nulls(8),
    }
)  # fmt: skip
ROWS = TABLE.to_pylist()


def kept(condition: Any, data: Any = TABLE, batch_rows: int = 131_072) -> list[int]:
    source = open_lake(data)
    reader = source.reader(ReadOptions(where=as_filter(condition, source), batch_rows=batch_rows))
    return [
        batch.start + int(i) for batch in reader.batches(source.files[0]) for i in np.flatnonzero(batch.keep)
    ]


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("i = 3", [6, 7]),
        ("i == 3", [6, 7]),
        ("i <> 3", [0, 1, 2, 4, 5]),
        ("i != 3", [0, 1, 2, 4, 5]),
        ("3 < i", [4, 5]),
        ("i >= 3 AND i < 8", [5, 6, 7]),
        ("i = 1 or i = 7 and f > 2", [1, 5]),
        ("(i = 1 or i = 7) and f > 2", [5]),
        ("not i = 3", [0, 1, 2, 4, 5]),
        ("not (i > 0 or i < 0)", [0]),
        ("not not i = 3", [6, 7]),
        ("i is null", [3]),
        ("i is not null and f is null", [4]),
        ("n is null", list(range(8))),
        ("n = 3 or i = 3", [6, 7]),
        ("n in (1, 2)", []),
        ("i in (3, -2, 99)", [2, 6, 7]),
        ("i not in (3, -2)", [0, 1, 4, 5]),
        ("f in (0)", [0, 1]),
        ("i between 0 and 3", [0, 1, 6, 7]),
        ("i not between 0 and 3", [2, 4, 5]),
        ("f != 0", [2, 3, 5, 6, 7]),
        ("f = f", [0, 1, 3, 5, 6, 7]),
        ("f > 1e308", [3]),
        ("f < 1 or not f < 1", [0, 1, 2, 3, 5, 6, 7]),
        ("s = 'a'", [1]),
        ("s != ''", [1, 2, 4, 5, 6, 7]),
        ("s = ''", [0]),
        ("s = 'it''s'", [5]),
        ("s in ('größe', 'b')", [4, 7]),
        ("s > 'a'", [4, 5, 7]),
        ("b", [0, 3, 5]),
        ("not b", [1, 4, 7]),
        ("b = false", [1, 4, 7]),
        ("b in (true)", [0, 3, 5]),
        ("b != true and i = 1", [1]),
        ("\"s\" = 'a' or `i` = 3", [1, 6, 7]),
        ("true", list(range(8))),
        ("false or i = 3", [6, 7]),
        ("1 = 1", list(range(8))),
        ("'a' > 'b'", []),
        ("i = small", [0, 1, 5, 6, 7]),
        ("u > i", [2]),
        ("u = small", [0, 1, 5, 6, 7]),
        ("i > f", [1, 5, 7]),
        ("d = small", [0, 5, 6]),
        ("i < d", [7]),
    ],
)
def test_conditions(condition, rows):
    assert kept(condition) == rows
    assert kept(condition, batch_rows=3) == rows
    assert kept(condition, batch_rows=1) == rows


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("i > 4611686018427387903.5", [4]),
        ("i = 4611686018427387904", [4]),
        ("i = 4611686018427387905", []),
        ("i < 100000000000000000000", [0, 1, 2, 4, 5, 6, 7]),
        ("i > -1e30", [0, 1, 2, 4, 5, 6, 7]),
        ("i = 2.5", []),
        ("i != 2.5", [0, 1, 2, 4, 5, 6, 7]),
        ("i <= 2.5", [0, 1, 2]),
        ("i >= 2.5", [4, 5, 6, 7]),
        ("i > -1.5", [0, 1, 4, 5, 6, 7]),
        ("i < -1.5", [2]),
        ("i in (2.5, 3.0)", [6, 7]),
        ("i in (2.5)", []),
        ("i not in (2.5)", [0, 1, 2, 4, 5, 6, 7]),
        ("small < 1000", [0, 1, 2, 3, 5, 6, 7]),
        ("small < -128", []),
        ("small <= -128", [2]),
        ("u = 18446744073709551615", [2]),
        ("u >= 9007199254740993", [2, 4]),
        ("u > 9007199254740993", [2]),
        ("u > -1", [0, 1, 2, 4, 5, 6, 7]),
        ("d = 0.1", [1]),
        ("d >= 99.990", [4]),
        ("d > 99.985", [4]),
        ("d in (0.1, 3.010, 5.0001)", [1, 7]),
        ("d < 1e5", [0, 1, 2, 4, 5, 6, 7]),
        ("d = 3", [6]),
        ("f4 = 0.5", [0]),
        ("f4 = 0.1", []),  # the float32 next to 0.1 is another number
    ],
)
def test_numbers_are_compared_exactly(condition, rows):
    assert kept(condition) == rows


Logic = bool | None
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b, "!=": lambda a, b: a != b, "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b, ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip


def compare(operator: str, a: Any, b: Any) -> Logic:
    return None if a is None or b is None else OPERATORS[operator](a, b)


def either(a: Logic, b: Logic) -> Logic:
    return True if a is True or b is True else (None if a is None or b is None else False)


def negated(a: Logic) -> Logic:
    return None if a is None else not a


def as_number(value: Any) -> Any:
    if isinstance(value, (int, Decimal)) and not isinstance(value, bool):
        return Fraction(value)
    return value


numbers = st.sampled_from(["-128", "0", "1", "2.5", "3", "3.01", "7", "99.99", "1e19", "-1e2", "0.10"])
texts = st.sampled_from(["", "a", "A", "b", "größe", "it's"])
operators = st.sampled_from(sorted(OPERATORS))
Condition = tuple[str, Callable[[dict[str, Any]], Logic]]


@st.composite
def leaves(draw: st.DrawFn) -> Condition:
    kind = draw(st.sampled_from(["number", "text", "null", "in", "bool"]))
    if kind == "bool":
        return "b", lambda row: row["b"]
    if kind == "null":
        name = draw(st.sampled_from(TABLE.column_names))
        return f"{name} is null", lambda row: row[name] is None
    operator = draw(operators)
    if kind == "text":
        text = draw(texts)
        quoted = "'" + text.replace("'", "''") + "'"
        return f"s {operator} {quoted}", lambda row: compare(operator, row["s"], text)
    name = draw(st.sampled_from(["i", "small", "u", "f", "d", "n"]))
    if kind == "in":
        items = draw(st.lists(numbers, min_size=1, max_size=3))

        def among(row: dict[str, Any]) -> Logic:
            result: Logic = False
            for item in items:
                result = either(result, compare("=", as_number(row[name]), literal(item, name)))
            return result

        return f"{name} in ({', '.join(items)})", among
    number = draw(numbers)
    return f"{name} {operator} {number}", lambda row: compare(
        operator, as_number(row[name]), literal(number, name)
    )


def literal(number: str, column: str) -> Any:
    return float(number) if column == "f" else Fraction(number)


def combine(children: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    def join(kind: str, left: Condition, right: Condition) -> Condition:
        if kind == "not":
            return f"not ({left[0]})", lambda row: negated(left[1](row))
        if kind == "or":
            return f"({left[0]}) or ({right[0]})", lambda row: either(left[1](row), right[1](row))
        return (
            f"({left[0]}) and ({right[0]})",
            lambda row: negated(either(negated(left[1](row)), negated(right[1](row)))),
        )

    return st.builds(join, st.sampled_from(["not", "or", "and"]), children, children)


@given(st.recursive(leaves(), combine, max_leaves=6))
def test_any_condition_equals_row_by_row_evaluation(condition):
    text, evaluate = condition
    expected = [i for i, row in enumerate(ROWS) if evaluate(row) is True]
    assert kept(text) == expected
    # what is known of some columns never excludes a row that is kept
    parsed = parse_filter(text)
    for i, row in enumerate(ROWS):
        known = {name: pa.array([row[name]], TABLE.schema.field(name).type) for name in ("i", "s", "small")}
        if i in expected:
            assert not parsed.excludes(known)
        if set(parsed.columns) <= set(known):
            assert parsed.excludes(known) == (i not in expected)


@given(st.recursive(leaves(), combine, max_leaves=4))
def test_dictionary_columns_give_the_same(condition):
    encoded = pa.table({name: TABLE[name].dictionary_encode() if name in ("s", "i") else TABLE[name]
                        for name in TABLE.column_names})  # fmt: skip
    repeated = pa.concat_tables([encoded, encoded]).unify_dictionaries()
    once = kept(condition[0])
    assert kept(condition[0], repeated) == once + [i + 8 for i in once]


def test_decimals_and_floats_are_compared_by_the_nearest_float():
    tenths = pa.array([Decimal(i) / 10 for i in range(-1000, 1000)], pa.decimal128(10, 1))
    floats = pa.array([i / 10 for i in range(-1000, 1000)])
    table = pa.table({"d": tenths, "f": floats, "wide": tenths.cast(pa.decimal256(40, 30))})
    for name in ("d", "wide"):
        assert len(kept(f"{name} = f", table)) == len(kept(f"f = {name}", table)) == 2000
        assert kept(f"{name} < f", table) == kept(f"f > {name}", table) == []
    with_null = pa.table({"d": pa.array([None, Decimal("0.3")]), "f": [0.3, 0.3]})
    assert kept("d = f", with_null) == [1]
    assert kept("not d = f", with_null) == []


UNITS = st.sampled_from(["s", "ms", "us", "ns"])
COUNTS = st.lists(
    st.none() | st.integers(-(2**63) + 1, 2**63 - 1) | st.integers(-5, 5), min_size=3, max_size=3
)


@given(COUNTS, UNITS, COUNTS, UNITS, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), st.booleans())
def test_times_of_all_units_and_zones_are_compared_exactly(left, unit, right, other, operator, zoned):
    zones = ("UTC", "Europe/Berlin") if zoned else (None, None)
    table = pa.table(
        {
            "a": pa.array(left, pa.int64()).cast(pa.timestamp(unit, zones[0])),
            "b": pa.array(right, pa.int64()).cast(pa.timestamp(other, zones[1])),
        }
    )
    per = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}
    nanoseconds = [
        (None if a is None else a * per[unit], None if b is None else b * per[other])
        for a, b in zip(left, right, strict=True)
    ]
    right_rows = [i for i, (a, b) in enumerate(nanoseconds) if compare(operator, a, b) is True]
    assert kept(f"a {operator} b", table) == right_rows
    not_rows = [i for i, (a, b) in enumerate(nanoseconds) if compare(operator, a, b) is False]
    assert kept(f"not a {operator} b", table) == not_rows


@pytest.mark.parametrize("sign", ["", "-"])
def test_numbers_beyond_all_floats(sign):
    one = float(f"{sign}1")
    table = pa.table({"f": [-math.inf, -1.7e308, 0.0, 1.7e308, math.inf, math.nan]})
    number = f"{sign}1{'0' * 310}"
    exact = [
        None if math.isnan(x) else -1 if x == -math.inf or (math.isfinite(x) and one > 0) else 1
        for x in table["f"].to_pylist()
    ]
    for operator in ("<", "<=", ">", ">=", "="):
        rows = [i for i, x in enumerate(exact) if x is not None and compare(operator, x, 0)]
        assert kept(f"f {operator} {number}", table) == rows, operator
    assert kept(f"f != {number}", table) == list(range(6))
    assert kept(f"f in ({number}, 0)", table) == [2]


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_every_type_of_text(kind):
    table = pa.table({"s": pa.array(["a", None, "b"], kind), "t": pa.array(["a", "x", "c"])})
    assert kept("s = 'a'", table) == [0]
    assert kept("s in ('b', 'c')", table) == [2]
    assert kept("s = t", table) == [0]
    assert kept("s is null", table) == [1]


def test_dates_and_times():
    day = datetime.date(2024, 1, 31)
    moment = datetime.datetime(2024, 1, 31, 12, 30, 0, 500_000)
    table = pa.table(
        {
            "day": pa.array([day, None]),
            "day64": pa.array([day, None], pa.date64()),
            "s": pa.array([moment.replace(microsecond=0), None], pa.timestamp("s")),
            "ms": pa.array([moment, None], pa.timestamp("ms")),
            "ns": pa.array([moment, None], pa.timestamp("ns")),
            "utc": pa.array([moment, None], pa.timestamp("us", "UTC")),
            "time": pa.array([moment.time(), None], pa.time64("us")),
        }
    )
    true = [
        "day = '2024-01-31'", "day < '2024-01-31T00:00:00.000000001'", "day64 = '2024-01-31'",
        "day > '2024-01-30'", "ns > '2024-01-31T12:30:00.499999999'",
        "s = '2024-01-31 12:30:00'", "s < '2024-01-31T12:30:00.5'", "s != '2024-01-31T12:30:00.5'",
        "ms = '2024-01-31T12:30:00.5'", "ms < '2024-01-31T12:30:00.500000001'",
        "ns between '2024-01-31' and '2024-02-01'", "utc = '2024-01-31T12:30:00.5Z'",
        "utc = '2024-01-31T14:30:00.5+02:00'", "utc = '2024-01-31T07:00:00.5-0530'", "time = '12:30:00.5'",
        "utc = '2024-01-31 14:30:00.5+02'",
        "time > '12:30'", "day in ('2024-01-31', '1999-01-01')", "day < ms", "s < ms", "day = day64",
        "ms >= '0001-01-01' and ms <= '9999-12-31'",
    ]  # fmt: skip
    for condition in true:
        assert kept(condition, table) == [0], condition
        assert kept(f"not ({condition})", table) == [], condition
    wrong = {
        "day = '31.01.2024'": "which is not a date; write '2024-01-31'",
        "day = '2024-02-30'": "which is not a date",
        "ms = '2024-01-31T25:00:00'": "which is not a date",
        "day = 20240131": "column 'day' is a date, not a number; write it as '2024-01-31'",
        "ms = '2024-01-31T00:00:00Z'": "column 'ms' has no time zone",
        "utc = '2024-01-31'": "column 'utc' has a time zone; write date, time and offset",
        "utc > ms": "they cannot be compared",
        "time = 'noon'": "which is not a time; write '10:30:00'",
        "day": "column 'day' is a date, not a condition",
    }
    for condition, message in wrong.items():
        with pytest.raises(ConfigError, match=message):
            kept(condition, table)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("s = 3", r"column 's' is text, not a number; write its exact text in single quotes, as in '3'"),
        ("s in ('a', 3)", r"column 's' is text, not a number"),
        ("i = '3'", r"column 'i' is a number, not text; write the number without quotes"),
        ("'3' = i", r"column 'i' is a number, not text"),
        ("i between 1 and 'x'", r"column 'i' is a number, not text"),
        ("i = true", r"column 'i' is a number, not true or false"),
        ("b = 1", r"column 'b' is true or false, not a number; write true or false"),
        ("b < true", r"use = or !="),
        ("s = i", r"column 's' is text but column 'i' is a number; they cannot be compared"),
        ("not (i = 1 and s)", r"column 's' is text, not a condition; compare it"),
        ("1 = 'a'", r"1 and 'a' are not of one type"),
        ("country = 'DE'", r"no column 'country'"),
        ('s = "DE"', r"no column 'DE'; double quotes name a column, a text is written 'DE'"),
    ],
)
def test_mismatches_are_errors_and_never_match_nothing(condition, message):
    with pytest.raises(ConfigError, match=message) as caught:
        kept(condition)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("", "the condition is empty"),
        ("  ", "the condition is empty"),
        ("i =", r"expected a column or a value, at character 4: i =>>> \(end\)"),
        ("i = 3 3", r"expected 'and', 'or' or the end, at character 7: i = 3 >>>3"),
        ("i = = 3", "expected a column or a value, at character 5"),
        ("(i = 3", "a closing parenthesis is missing"),
        ("i = 3)", "expected 'and', 'or' or the end"),
        ("(i) = 3", "parentheses hold conditions, not values"),
        ("1 < i < 3", "comparisons do not chain"),
        ("i = null", "nothing equals null; write 'is null'"),
        ("i is 3", "'is' must be followed by 'null' or 'not null'"),
        ("i in 3", "'in' needs a list in parentheses"),
        ("i in ()", "expected a column or a value"),
        ("i in (u)", "a list holds numbers and texts"),
        ("i in (1 2)", "expected a comma or a closing parenthesis"),
        ("3 in (1, 2)", "expected a column here, not a value"),
        ("i not 3", "expected 'in' or 'between' after 'not'"),
        ("i between 1 or 2", "'between' needs 'and'"),
        ("s like 'a%'", r"'like' is not supported; name the texts.*at character 3"),
        ("s not like 'a%'", r"'like' is not supported.*at character 7"),
        ("i + 1 = 3", "arithmetic is not supported, at character 3"),
        ("i = -u", "a minus sign must precede a number"),
        ("3", "3 alone is not a condition"),
        ("'a'", "'a' alone is not a condition"),
        ("s = 'a", "a text has no closing quote, at character 5"),
        ('"s = 3', "a quoted column name has no closing quote"),
        ("a.b = 3", "write the column's name in double quotes"),
        ("i = 3x", "a number must be followed by a blank"),
        ("i = 1.2.3", "a number must be followed by a blank"),
        ("i; drop", r"the character ';' is unexpected here"),
        ("__import__('os')", "expected 'and', 'or' or the end"),
        ("i = 1e999999999", "a number may have 400 digits"),
        ("i = " + "9" * 500, "a number may have 400 digits"),
        ("i = 3 or " * 20_000 + "i = 3", "may have 100000 characters"),
        ("(" * 5_000 + "i = 3" + ")" * 5_000, "more than 50 parentheses"),
        ("not " * 5_000 + "i = 3", "more than 50 parentheses or negations"),
    ],
)
def test_what_is_no_condition_is_an_error_with_its_place(condition, message):
    with pytest.raises(ConfigError, match=message) as caught:
        parse_filter(condition)
    assert "\n" not in str(caught.value)


def test_long_flat_conditions_are_fine():
    text = " or ".join(f"i = {k}" for k in range(5_000))
    parsed = pickle.loads(pickle.dumps(parse_filter(text)))
    assert parsed == parse_filter(text)
    assert kept(text) == [0, 1, 5, 6, 7]
    assert kept(f"i in ({', '.join(map(str, range(5_000)))})") == [0, 1, 5, 6, 7]


@given(st.text(max_size=60))
def test_any_text_is_parsed_or_refused_in_one_line(text):
    try:
        parse_filter(text)
    except ConfigError as error:
        assert "\n" not in str(error)


def test_columns_of_a_filter():
    parsed = parse_filter(
        '"a b" = 1 and `c.d` > 2 and größe is null and not "a b" in (3) and "say ""x""" = 1'
    )
    assert parsed.columns == ("a b", "c.d", "größe", 'say "x"')


@pytest.mark.parametrize(
    ("condition", "values", "excluded"),
    [
        ("day = 3", {"day": 3}, False),
        ("day = 3", {"day": 4}, True),
        ("day = 3", {"day": None}, True),
        ("day = 3 and x > 0", {"day": 4}, True),
        ("day = 3 or x > 0", {"day": 4}, False),
        ("not (day = 3 or x > 0)", {"day": 3}, True),
        ("day is null", {"day": None}, False),
        ("day is not null", {"day": None}, True),
        ("day in (1, 2) and hour >= '07'", {"day": 2, "hour": "06"}, True),
        ("day in (1, 2) and hour >= '07'", {"day": 2, "hour": "07"}, False),
        ("day between 1.5 and 2.5", {"day": 2}, False),
        ("day != 3", {"day": None}, True),
        ("x is null", {"day": 1}, False),
        ("false", {}, True),
        ("x", {"day": 1}, False),
    ],
)
def test_files_that_partition_values_exclude(condition, values, excluded):
    arrays = {name: pa.array([value]) for name, value in values.items()}
    assert parse_filter(condition).excludes(arrays) is excluded


def test_hive_and_stored_columns_in_one_condition(write, tmp_path, read):
    for day in (1, 2):
        write(f"t/day={day}/a.parquet", {"x": [0.0, 1.0, 2.0], "lag": [0, 1, 2]})
    assert read(tmp_path / "t", ("x",), where="day = 2 or x < 1").column() == [0.0, 0.0, 1.0, 2.0]
    assert read(tmp_path / "t", ("x",), where="lag = day").column() == [1.0, 2.0]
    assert read(tmp_path / "t", ("x",), where="day in (2, 3) and not lag = 2").column() == [0.0, 1.0]


def test_types_that_differ_between_files(write, tmp_path, read):
    write("t/0.parquet", {"x": [1.0, 2.0], "k": pa.array([1, 2], pa.int8())})
    write("t/1.parquet", {"x": [3.0, 4.0], "k": pa.array([1.0, 2.5])})
    assert read(tmp_path / "t", ("x",), where="k >= 2").column() == [2.0, 4.0]
    write("t/2.parquet", {"x": [3.0], "k": ["2"]})
    with pytest.raises(DataError, match=r"column 'k' is int8 in 0\.parquet but string in 2\.parquet"):
        read(tmp_path / "t", ("x",), where="k >= 2")


def test_arrow_expressions(write, tmp_path, read):
    assert kept(pc.field("i") > 2) == [4, 5, 6, 7]
    assert kept((pc.field("s") == "a") | pc.field("b")) == [0, 1, 3, 5]
    assert kept(~(pc.field("i") > 2), batch_rows=3) == [0, 1, 2]
    assert kept(pc.is_nan(pc.field("f"))) == [2]
    source = open_lake(TABLE)
    where = as_filter(pc.field("i") > 2, source)
    assert where is not None and where.columns == ("i",)
    assert pickle.loads(pickle.dumps(where)).columns == ("i",)
    with pytest.raises(ConfigError, match="the expression does not fit the columns"):
        as_filter(pc.field("absent") > 2, source)
    for day in (1, 2):
        write(f"t/day={day}/a.parquet", {"x": [0.0, 1.0, 2.0], "s": ["a", "b", "a"]})
    where = (pc.field("day") == 2) & (pc.field("s") == "a")
    assert read(tmp_path / "t", ("x",), where=where).column() == [0.0, 2.0]


def test_what_is_neither_text_nor_expression():
    source = open_lake(TABLE)
    assert as_filter(None, source) is None
    with pytest.raises(ConfigError, match="where must be a text or an Arrow expression, not int"):
        as_filter(3, source)  # type: ignore[arg-type]


def test_a_column_without_a_name_can_be_named():
    table = pa.table({"x": [1.0, 2.0, 3.0, 4.0], "": [1, 2, 1, 2]})
    for condition in ('"" = 1', "`` = 1", '"" in (1, 3)', '"" != 2'):
        assert dm.mean(table, "x", where=condition, rng=0).estimate == 2.0
    with pytest.raises(ConfigError, match="double quotes name a column, a text is written ''"):
        dm.mean(table.select(["x"]), "x", where='x = ""')
