"""An S3 server that refuses, resets, cuts or never gives answers: the bits are those without any fault."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest
from slow_proxy import Fault, Proxy, Request

import distmom as dm
from distmom.errors import DataError, ResourceError
from distmom.lake import ReadOptions, open_lake
from distmom.lake.files import retries

KEYS = {"access_key": "AKIAEXAMPLE", "secret_key": "very-secret-EXAMPLE", "region": "us-east-1"}
Store = tuple[pafs.FileSystem, str]
Write = Callable[..., None]
KINDS = [
    *("429 TooManyRequests", "429 ", "500 InternalError", "503 SlowDown", "503 ", "502 ", "504 "),
    *("reset", "cut", "short"),
]


def bits(found: Any) -> tuple[object, ...]:
    """All that must agree to the last bit."""
    return found.estimate, found.interval, found.plain_estimate, found.n_rows, found.block_estimates.tobytes()


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """The server is not really busy."""
    monkeypatch.setattr(retries, "MOST", 0.2)


@pytest.fixture
def lake(store: Store, s3_port: int, tmp_path: Path) -> Path:
    """Small objects, and one that is read by ranges, on the disk and in the bucket under ``t``."""
    bucket = store[1]
    place = {"scheme": "http", "endpoint_override": f"127.0.0.1:{s3_port}"}
    filesystem = pafs.S3FileSystem(**KEYS, **place, allow_delayed_open=True)  # writes small objects at once
    rng = np.random.default_rng(3)
    for number in range(7):
        n = 300_000 if number == 6 else 2_000
        target = tmp_path / "t" / f"day={number % 3}" / f"{number}.parquet"
        target.parent.mkdir(parents=True, exist_ok=True)
        x = pa.array(rng.lognormal(size=n))
        pq.write_table(pa.table({"x": x, "y": x}), target, row_group_size=100_000, use_dictionary=False)
        with filesystem.open_output_stream(f"{bucket}/t/{target.parent.name}/{target.name}") as stream:
            stream.write(target.read_bytes())
    return tmp_path / "t"


def through(proxy: Proxy, options: dict[str, str], **more: object) -> dict[str, Any]:
    return {**options, "endpoint": proxy.endpoint, **more}


@pytest.mark.parametrize(
    ("kind", "share"),
    [
        pytest.param(
            kind,
            share,
            marks=() if (kind, share) == ("short", 0.1) else pytest.mark.slow,
        )
        for kind in KINDS
        for share in (0.1, 0.5)
    ],
)
def test_the_same_bits_through_faults(
    lake: Path, store: Store, options: dict[str, str], s3_port: int, kind: str, share: float
) -> None:
    expected = bits(dm.mean(lake, "x", rng=1, executor=dm.Threads(2)))
    faults = 0
    with Proxy(s3_port, fault=Fault(kind, share)) as proxy:
        for _ in range(2):
            data = dm.scan(f"s3://{store[1]}/t", storage_options=through(proxy, options))
            assert bits(dm.mean(data, "x", rng=1, executor=dm.Threads(2))) == expected
        faults = proxy.n_faults
    assert faults


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_object_is_missed_by_a_listing(
    store: Store, put: Any, options: dict[str, str], s3_port: int, kind: str
) -> None:
    """No object of a listing is missed, which would be another answer with status ok."""
    for number in range(30):
        put(f"t/{number:04}.parquet", b"x")
    with Proxy(s3_port, fault=Fault(kind, 0.3, lambda request: request.lists)) as proxy:
        for _ in range(10):
            found = open_lake(f"s3://{store[1]}/t", storage_options=through(proxy, options))
            assert len(found.files) == 30
        assert proxy.n_faults >= 3


@pytest.mark.slow
def test_the_second_page_of_a_listing_is_asked_for_again(
    put: Any, store: Store, options: dict[str, str], s3_port: int, tmp_path: Path
) -> None:
    """A page has a thousand keys: what a fault of the second one loses would be another answer."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"x": np.random.default_rng(1).lognormal(size=20)}), sink)
    data, address = sink.getvalue().to_pybytes(), f"s3://{store[1]}/t"
    names = [f"{number:04}.parquet" for number in range(1_004)]
    for name in names:
        put(f"t/{name}", data)
        (tmp_path / name).write_bytes(data)

    def second(request: Request) -> bool:
        return request.lists and "continuation-token" in request.path

    for kind in ("429 TooManyRequests", "503 SlowDown", "reset", "cut", "short"):
        with Proxy(s3_port, fault=Fault(kind, 0.6, second)) as proxy:
            for _ in range(20):
                found = open_lake(address, storage_options=through(proxy, options))
                assert [file.path for file in found.files] == names, kind
                if proxy.n_faults:
                    break
            assert proxy.n_faults, kind
    again = dm.scan(address, storage_options=options)
    assert bits(dm.mean(again, "x", rng=1)) == bits(dm.mean(tmp_path, "x", rng=1))


def gets(request: Request) -> bool:
    return request.method == "GET" and not request.lists


@pytest.mark.slow
def test_a_request_is_made_again_and_not_the_unit(
    write: Write, store: Store, options: dict[str, str], s3_port: int
) -> None:
    """Twenty small objects are one unit: to begin it again for one of them would never end."""
    for number in range(20):
        write(f"t/{number}.parquet", x=[1.0, 3.0])
    with Proxy(s3_port, fault=Fault("500 InternalError", 0.3, gets)) as proxy:
        data = dm.scan(f"s3://{store[1]}/t", storage_options=through(proxy, options))
        found = dm.mean(data, "x", executor=dm.Threads(1))
        requests = [request for request in proxy.requests if gets(request) and "/t/" in request.path]
    assert found.n_rows == 40 and proxy.n_faults > 4
    assert len(requests) <= 22 + proxy.n_faults  # the first one's schema is asked for beforehand


@pytest.mark.slow
@pytest.mark.parametrize("where", [pytest.param("listing", marks=pytest.mark.slow), "object"])
def test_what_never_answers_ends_the_run_in_time(
    lake: Path, store: Store, options: dict[str, str], s3_port: int, where: str
) -> None:
    """With its name, and what can be set."""

    def silent(request: Request) -> bool:
        return request.lists if where == "listing" else "4.parquet" in request.path

    began = time.monotonic()
    with Proxy(s3_port, fault=Fault("silent", 1.0, silent)) as proxy:
        limits = {"request_timeout": 1, "retry_time_limit": 2, "max_attempts": 1} | (
            {} if where == "listing" else {"max_attempts": 2}
        )
        data = dm.scan(f"s3://{store[1]}/t", storage_options=through(proxy, options, **limits))
        with pytest.raises(ResourceError) as told:
            dm.mean(data, "x", executor=dm.Threads(2))
    text = str(told.value)
    assert "the store cannot be reached" in text and "raise the storage option retry_time_limit" in text
    assert where == "listing" or f"s3://{store[1]}/t/day=1/4.parquet" in text
    assert time.monotonic() - began < 30 and "\n" not in text


@pytest.mark.parametrize(
    "kind", ["429 TooManyRequests", pytest.param("503 SlowDown", marks=pytest.mark.slow)]
)
def test_a_store_that_is_busy_for_good_ends_the_run_in_time(
    lake: Path, store: Store, options: dict[str, str], s3_port: int, kind: str
) -> None:
    with Proxy(s3_port, fault=Fault(kind, 1.0)) as proxy:
        limits = through(proxy, options, retry_time_limit=0.5)
        with pytest.raises(ResourceError, match=r"slow down, tried \d+ times in \d s.*fewer workers or thr"):
            open_lake(f"s3://{store[1]}/t", storage_options=limits)


def test_messages_say_what_the_store_said(
    lake: Path, store: Store, options: dict[str, str], s3_port: int
) -> None:
    root = f"s3://{store[1]}/t"
    cases = [
        ("404 NoSuchKey", DataError, r"changed since planning: day=0/0\.parquet \(deleted\)"),
        ("400 InvalidArgument", ResourceError, r"the store refuses the request \(.*InvalidArgument"),
        ("403 AccessDenied", ResourceError, "access denied for s3://"),
    ]
    for kind, error, told in cases:
        with Proxy(s3_port) as proxy:
            source = open_lake(root, storage_options=through(proxy, options))
            proxy.fault = Fault(kind, 1.0, lambda request: gets(request) and "0.parquet" in request.path)
            with pytest.raises(error, match=told):
                list(source.reader(ReadOptions(("x",))).batches(source.files[0]))


def test_an_object_that_comes_damaged_is_read_again(
    lake: Path, store: Store, options: dict[str, str], s3_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An ETag is the MD5 sum of an object that was written at once."""
    from distmom.lake.files.stored_object import StoredObject

    whole, spoilt = StoredObject._range, []

    def sometimes(self: StoredObject, position: int, n: int) -> pa.Buffer:
        found = whole(self, position, n)
        if len(spoilt) < 3 and n == self.size():
            spoilt.append(n)
            data = bytearray(found)
            data[100 + len(spoilt)] ^= 1
            return pa.py_buffer(bytes(data))
        return found

    monkeypatch.setattr(StoredObject, "_range", sometimes)
    data = dm.scan(f"s3://{store[1]}/t", storage_options=options)
    assert bits(dm.mean(data, "x", rng=1)) == bits(dm.mean(lake, "x", rng=1))
    assert len(spoilt) == 3


@pytest.mark.slow
def test_an_etag_that_is_no_sum_costs_one_more_request_in_all(
    lake: Path, store: Store, options: dict[str, str], s3_port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of objects that the store encrypts with a key of its owner."""
    expected, counts = bits(dm.mean(lake, "x", rng=1)), []
    for sum_ in (hashlib.md5, hashlib.sha256):
        monkeypatch.setattr(hashlib, "md5", sum_)
        with Proxy(s3_port) as proxy:
            data = dm.scan(f"s3://{store[1]}/t", storage_options=through(proxy, options))
            assert bits(dm.mean(data, "x", rng=1, executor=dm.Threads(1))) == expected
            counts.append(sum(map(gets, proxy.requests)))
    assert counts[1] == counts[0] + 1
