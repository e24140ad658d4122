"""Lakes on a real S3 server: the same answers as from a disk, errors in one line, bounded requests."""

from __future__ import annotations

import hashlib
import pickle
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest
from clusters import clusters
from slow_proxy import Proxy

import distmom as dm
from distmom.cluster import Unit, UnitOutcome, plan_units, run_units
from distmom.cluster.executors.client import ClientExecutor
from distmom.errors import ConfigError, DataError, DistmomError, ResourceError
from distmom.lake import BatchReader, Lake, ReadOptions, open_lake

Store = tuple[pafs.FileSystem, str]
Write = Callable[..., None]
RNG = np.random.default_rng(8)
PARTS = {f"day={day}/part-{i}.parquet": RNG.lognormal(size=3000 + day) for day in range(3) for i in range(2)}


def bits(found: Any) -> tuple[object, ...]:
    """All that must agree to the last bit."""
    return found.estimate, found.interval, found.plain_estimate, found.n_rows, found.block_estimates.tobytes()


def process(*words: object) -> tuple[int, str, str]:
    """The command line in a process of its own."""
    command = [sys.executable, "-m", "distmom", *map(str, words)]
    done = subprocess.run(command, capture_output=True, timeout=240, check=False, text=True)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def lake(store: Store, tmp_path: Path) -> Path:
    """The same files on the disk and in the bucket under ``t``."""
    filesystem, bucket = store
    for name, values in PARTS.items():
        target = tmp_path / "t" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"x": values}), target, row_group_size=1000)
        with filesystem.open_output_stream(f"{bucket}/t/{name}") as stream:
            stream.write(target.read_bytes())
    return tmp_path / "t"


def test_the_same_bits_as_from_a_disk(lake: Path, store: Store, options: dict[str, str]) -> None:
    """Folder, pattern and list of all."""
    local = bits(dm.mean(lake, "x", rng=1))
    root = f"s3://{store[1]}/t"
    for data in (root, f"{root}/", [f"{root}/{name}" for name in PARTS], root.replace("s3:", "s3a:")):
        assert bits(dm.mean(dm.scan(data, storage_options=options), "x", rng=1)) == local
    pattern = dm.mean(dm.scan(f"{root}/day=*/*.parquet", storage_options=options), "x", rng=1)
    assert bits(pattern) == bits(dm.mean(f"{lake}/day=*/*.parquet", "x", rng=1)) == local
    one = dm.mean(dm.scan(f"{root}/day=1/part-0.parquet", storage_options=options), "x", rng=1)
    assert bits(one) == bits(dm.mean(lake / "day=1/part-0.parquet", "x", rng=1))


def test_groups_filters_and_profiles(lake: Path, store: Store, options: dict[str, str]) -> None:
    root = f"s3://{store[1]}/t"
    theirs = dm.mean(dm.scan(root, storage_options=options), "x", by="day", where="x < 3", rng=1)
    ours = dm.mean(lake, "x", by="day", where="x < 3", rng=1)
    assert [bits(r) for r in theirs] == [bits(r) for r in ours]
    profile = dm.describe(dm.scan(root, storage_options=options), rng=1)
    assert profile.to_dict()["results"] == dm.describe(lake, rng=1).to_dict()["results"]


def test_other_names_of_options_and_the_environment(
    lake: Path, store: Store, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = {
        "key": options["access_key"],
        "secret": options["secret_key"],
        "endpoint_url": options["endpoint"],
    }
    root = f"s3://{store[1]}/t"
    far, near = open_lake(root, storage_options=names), open_lake(lake)
    assert [file.size for file in far.files] == [file.size for file in near.files]
    monkeypatch.setenv("AWS_ENDPOINT_URL", options["endpoint"])
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "from-the-environment")
    assert len(open_lake(root).files) == len(PARTS)


def test_workers_get_the_options_and_nothing_shows_them(
    lake: Path, store: Store, options: dict[str, str], inproc_client: Any, tmp_path: Path
) -> None:
    root, state = f"s3://{store[1]}/t", tmp_path / "s.state"
    found = dm.mean(dm.scan(root, storage_options=options), "x", rng=1, state=state, executor=inproc_client)
    assert bits(found) == bits(dm.mean(lake, "x", rng=1))
    source = open_lake(root, storage_options=options)
    assert isinstance(source, Lake)
    from distmom.lake import ReadOptions

    reader = source.reader(ReadOptions(("x",)))
    again = pickle.loads(pickle.dumps(reader))
    assert again.filesystem is reader.filesystem  # one set of connections a process
    keys = [moved[0] for moved in inproc_client.cluster.scheduler.transition_log]
    assert keys
    shown = f"{source!r} {reader!r} {found!r} {found.to_dict()} {keys}".encode() + state.read_bytes()
    assert b"secret-EXAMPLE" not in shown and b"AKIAEXAMPLE" not in shown


@pytest.mark.slow
def test_the_command_line(lake: Path, store: Store, options: dict[str, str]) -> None:
    given = [word for pair in options.items() for word in ("--storage-option", "=".join(pair))]
    root = f"s3://{store[1]}/t"
    remote = process("mean", root, "-c", "x", "--threads", 1, *given)
    assert remote == process("mean", lake, "-c", "x", "--threads", 1)
    dry = process("mean", root, "-c", "x", "--dry-run", *given)
    assert dry[0] == 0 and "secret" not in dry[1] + dry[2]
    wrong = process("mean", root, "-c", "x", "--storage-option", "very-secret")
    assert wrong[0] == 2 and "KEY=VALUE" in wrong[2] and "very-secret" not in wrong[2]


def test_folder_marks_are_passed_over(write: Write, put: Any, store: Store, options: dict[str, str]) -> None:
    filesystem, bucket = store
    write("t/a/0.parquet", x=[1.0, 3.0])
    filesystem.create_dir(f"{bucket}/t/empty")
    for mark in ("t/a_$folder$", "t_$folder$"):
        put(mark, b"")
    assert dm.mean(dm.scan(f"s3://{bucket}/t", storage_options=options), "x").plain_estimate == 2.0
    put("t/b.parquet", b"")  # no folder: a file without a footer is damaged
    with pytest.raises(DataError, match=r"b\.parquet"):
        dm.mean(dm.scan(f"s3://{bucket}/t", storage_options=options), "x")


def test_tables_are_refused(write: Write, put: Any, store: Store, options: dict[str, str]) -> None:
    write("t/part-0.parquet", x=[1.0])
    put("t/_delta_log/00000000000000000000.json", b"{}")
    for data in ("t", "t/*.parquet"):
        with pytest.raises(DataError, match="Delta table"):
            open_lake(f"s3://{store[1]}/{data}", storage_options=options)


def test_a_state_reads_what_is_new(
    write: Write, store: Store, options: dict[str, str], tmp_path: Path
) -> None:
    """A listing is made anew by each run, and an object that was replaced is told."""
    root, state = f"s3://{store[1]}/t", tmp_path / "s.state"
    write("t/0.parquet", x=np.arange(10.0))
    dm.mean(dm.scan(root, storage_options=options), "x", rng=1, state=state)
    write("t/1.parquet", x=np.arange(20.0))
    found = dm.mean(dm.scan(root, storage_options=options), "x", rng=1, state=state)
    assert found.n_rows == 30 and found.data["state"]["n_files_read"] == 1
    assert bits(found) == bits(dm.mean(dm.scan(root, storage_options=options), "x", rng=1))
    write("t/0.parquet", x=np.arange(11.0))
    with pytest.raises(DataError, match="changed"):
        dm.mean(dm.scan(root, storage_options=options), "x", rng=1, state=state)
    with pytest.raises(ConfigError, match="local or shared disk"):
        dm.mean(dm.scan(root, storage_options=options), "x", state=f"{root}/s.state")


@pytest.mark.parametrize("same_size", [False, True])
def test_an_object_replaced_before_it_is_read(
    write: Write, store: Store, options: dict[str, str], same_size: bool
) -> None:
    from distmom.lake import ReadOptions

    write("t/0.parquet", x=np.full(1000, 1.0))
    source = open_lake(f"s3://{store[1]}/t", storage_options=options)
    reader = source.reader(ReadOptions(("x",)))
    time.sleep(1.1)  # times of change have whole seconds
    write("t/0.parquet", x=np.full(1000 if same_size else 500, 2.0 if same_size else 9.0))
    with pytest.raises(DataError, match=r"changed since planning: 0\.parquet"):
        list(reader.batches(source.files[0]))


def test_an_object_replaced_while_it_is_read(write: Write, store: Store, options: dict[str, str]) -> None:
    """By one of the same size, at the same second: the ETag tells."""
    from distmom.lake import ReadOptions

    filesystem, bucket = store
    x = RNG.normal(size=400_000)
    write("t/0.parquet", x=x, row_group_size=50_000)
    source = open_lake(f"s3://{bucket}/t", storage_options=options)
    with pytest.raises(DataError, match=r"changed since planning: 0\.parquet"):
        for n, _ in enumerate(source.reader(ReadOptions(("x",), batch_rows=50_000)).batches(source.files[0])):
            if n == 0:
                with filesystem.open_input_file(f"{bucket}/t/0.parquet") as old:
                    data = bytearray(old.read())
                data[5000] ^= 1
                with filesystem.open_output_stream(f"{bucket}/t/0.parquet") as new:
                    new.write(bytes(data))


def test_throttling_is_waited_for(lake: Path, store: Store, options: dict[str, str], s3_port: int) -> None:
    with Proxy(s3_port, every=5) as proxy:
        slow = {**options, "endpoint": proxy.endpoint}
        found = dm.mean(
            dm.scan(f"s3://{store[1]}/t", storage_options=slow), "x", rng=1, executor=dm.Threads(2)
        )
    assert proxy.n_slowed >= 4 and proxy.most_in_flight <= 16
    assert bits(found) == bits(dm.mean(lake, "x", rng=1))


def test_a_throttled_run_ends_with_the_setting_to_lower(
    lake: Path, store: Store, options: dict[str, str], s3_port: int
) -> None:
    with (
        Proxy(s3_port, every=1) as proxy,
        pytest.raises(ResourceError, match=r"slow down.*fewer workers or thr"),
    ):
        slow = {**options, "endpoint": proxy.endpoint, "max_attempts": "2"}
        dm.mean(dm.scan(f"s3://{store[1]}/t", storage_options=slow), "x")


@pytest.mark.parametrize("where", ["listing", "footer", "worker"])
@pytest.mark.one_in(3)
def test_an_expired_token_is_told_in_one_line(
    lake: Path, store: Store, options: dict[str, str], s3_port: int, inproc_client: Any, where: str
) -> None:
    """And is never skipped as a bad file."""
    root = f"s3://{store[1]}/t"

    def asked(options: dict[str, str]) -> None:
        scan = dm.scan(root, storage_options=options, on_bad_file="skip")
        dm.mean(scan, "x", executor=inproc_client)

    with Proxy(s3_port) as proxy:
        through = {**options, "endpoint": proxy.endpoint}
        open_lake(root, storage_options=through)
        listed = len(proxy.requests)
        asked(through)
        total = len(proxy.requests) - listed
    good_for = {"listing": 0, "footer": listed, "worker": total - 4}[where]
    with Proxy(s3_port, good_for=good_for) as proxy, pytest.raises(ResourceError) as told:
        through = {**options, "endpoint": proxy.endpoint, "token": "expired-EXAMPLE"}
        asked(through)
    text = str(told.value)
    assert "access denied" in text and "token has expired" in text and root in text
    assert "\n" not in text and "EXAMPLE" not in text
    assert ("on worker inproc://" in text) == (where == "worker")


@dataclass(frozen=True)
class Broken:
    """Work that knows the credentials of a store and ends in an error nobody expects."""

    reader: BatchReader
    step: ClassVar[str] = "read"

    def __call__(self, unit: Unit) -> UnitOutcome:
        raise ZeroDivisionError("a bug")


@pytest.mark.slow
@pytest.mark.cluster
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_no_secret_is_in_the_logs_of_a_cluster(
    lake: Path, store: Store, options: dict[str, str], s3_port: int, tmp_path: Path
) -> None:
    """Also where a worker reports with all it knows that a task has failed, as of a fault nobody expected."""
    root, talkative = f"s3://{store[1]}/t", {"DASK_LOGGING__DISTRIBUTED": "debug"}
    with clusters(tmp_path / "cluster") as own:
        own.scheduler(**talkative)
        own.workers(1, **talkative)
        with own.client(1) as client, Proxy(s3_port) as proxy:
            through = {**options, "endpoint": proxy.endpoint, "token": "token-EXAMPLE"}
            dm.mean(dm.scan(root, storage_options=through), "x", executor=client)
            with Proxy(s3_port, good_for=len(proxy.requests) - 4) as proxy:
                through["endpoint"] = proxy.endpoint
                with pytest.raises(ResourceError, match="on worker tcp"):
                    dm.mean(dm.scan(root, storage_options=through), "x", executor=client)
            source = dm.scan(root, storage_options=options | {"token": "token-EXAMPLE"}).source
            broken = Broken(source.reader(ReadOptions(("x",))))
            with pytest.raises(DistmomError, match="a bug"):
                run_units(broken, plan_units(source.files), max, ClientExecutor(client))
    logs = "".join(log.read_text() for log in (tmp_path / "cluster").glob("*.log"))
    assert "Compute Failed" in logs and "EXAMPLE" not in logs


def test_denied(lake: Path, store: Store, options: dict[str, str], s3_port: int) -> None:
    with (
        Proxy(s3_port, refused="AccessDenied") as proxy,
        pytest.raises(ResourceError, match="access denied for"),
    ):
        open_lake(f"s3://{store[1]}/t", storage_options={**options, "endpoint": proxy.endpoint})


def test_nothing_there(store: Store, options: dict[str, str]) -> None:
    with pytest.raises(DataError, match=r"no such bucket 'none-such'"):
        open_lake("s3://none-such/t", storage_options=options)
    with pytest.raises(DataError, match="no such bucket"):
        open_lake("s3://none-such", storage_options=options)
    with pytest.raises(DataError, match="no such file or folder"):
        open_lake(f"s3://{store[1]}/t", storage_options=options)
    away = {**options, "endpoint": "http://127.0.0.1:1"}
    with pytest.raises(ResourceError, match=r"endpoint http://127\.0\.0\.1:1 cannot be reached"):
        open_lake(f"s3://{store[1]}/t", storage_options=away)


def test_one_column_of_a_large_object_is_read_by_ranges(
    write: Write, store: Store, options: dict[str, str], s3_port: int
) -> None:
    n = 600_000
    write("t/0.parquet", x=RNG.normal(size=n), y=RNG.normal(size=n), z=RNG.normal(size=n))
    with Proxy(s3_port) as proxy:
        found = dm.mean(
            dm.scan(f"s3://{store[1]}/t", storage_options={**options, "endpoint": proxy.endpoint}), "x"
        )
    assert found.n_rows == n
    lengths = []
    for request in proxy.requests:
        if request.range is not None:
            first, _, last = request.range.removeprefix("bytes=").partition("-")
            lengths.append(int(last) - int(first) + 1)
    assert 4_000_000 < sum(lengths) < 7_000_000  # a column of three of 4.8 MB, and footers
    assert max(lengths) <= 4_200_000


@pytest.mark.parametrize("delayed", [False, True])
@pytest.mark.parametrize("is_sum", [True, False])
def test_a_small_object_is_a_head_and_all_bytes(
    store: Store,
    options: dict[str, str],
    s3_port: int,
    monkeypatch: pytest.MonkeyPatch,
    delayed: bool,
    is_sum: bool,
) -> None:
    """Written at once or by an upload of one part; without an MD5 sum the head is asked for once more."""
    place = {"scheme": "http", "endpoint_override": f"127.0.0.1:{s3_port}"}
    keys = {name: value for name, value in options.items() if name != "endpoint"}
    filesystem = pafs.S3FileSystem(**keys, **place, allow_delayed_open=delayed)
    for number in range(12):
        with filesystem.open_output_stream(f"{store[1]}/t/{number:02}.parquet") as stream:
            pq.write_table(pa.table({"x": [1.0, 3.0 + number]}), stream)
    if not is_sum:
        monkeypatch.setattr(hashlib, "md5", hashlib.sha256)
    with Proxy(s3_port) as proxy:
        through = {**options, "endpoint": proxy.endpoint}
        scan = dm.scan(f"s3://{store[1]}/t", storage_options=through)
        assert dm.mean(scan, "x", rng=0, executor=dm.Threads(1)).n_rows == 24
    asked = Counter(request.method for request in proxy.requests if "/t/11" in request.path)
    assert asked == {"HEAD": 1 if is_sum else 2, "GET": 1}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_thousands_of_objects(store: Store, options: dict[str, str], s3_port: int) -> None:
    """Planning lists by pages, and few requests are under way at once."""
    from concurrent.futures import ThreadPoolExecutor

    filesystem, bucket = store
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"x": [1.0, 3.0]}), sink)
    data = sink.getvalue()

    def put(number: int) -> None:
        with filesystem.open_output_stream(f"{bucket}/t/{number:05}.parquet") as stream:
            stream.write(data)

    n = 2_000
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(put, range(n)))
    with Proxy(s3_port) as proxy:
        through = {**options, "endpoint": proxy.endpoint}
        assert len(open_lake(f"s3://{bucket}/t", storage_options=through).files) == n
        assert len(proxy.requests) < 20
        found = dm.mean(dm.scan(f"s3://{bucket}/t", storage_options=through), "x", executor=dm.Threads(8))
    assert found.n_rows == 2 * n and found.plain_estimate == 2.0
    assert proxy.most_in_flight <= 16 and len(proxy.requests) < 2.1 * n
