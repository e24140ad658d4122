"""Lakes in Google Cloud Storage and Azure, on their emulators."""

from __future__ import annotations

import time
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

import distmom as dm
from distmom.errors import DataError, ResourceError
from distmom.lake import ReadOptions, open_lake

pytestmark = [  # emulators start slowly
    pytest.mark.slow,
    pytest.mark.xdist_group("emulators"),
]

# the key of the emulator's only account, which is public
KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
RNG = np.random.default_rng(9)
NUMBERS = count()


class Store(NamedTuple):
    url: str
    filesystem: pafs.FileSystem
    options: dict[str, str]
    folder: str

    def put(self, key: str, data: bytes) -> None:
        with self.filesystem.open_output_stream(f"box/{self.folder}/{key}") as stream:
            stream.write(data)

    def write(self, key: str, **columns: Any) -> None:
        sink = pa.BufferOutputStream()
        pq.write_table(pa.table(columns), sink)
        self.put(key, sink.getvalue().to_pybytes())


@pytest.fixture(params=["gs", "abfs"])
def store(request: pytest.FixtureRequest) -> Store:
    """A store with a container ``box``, and in it an empty folder for each test: emptying takes seconds."""
    folder = f"folder{next(NUMBERS)}"
    port = request.getfixturevalue(f"{request.param}_port")
    place, endpoint = f"127.0.0.1:{port}", f"http://127.0.0.1:{port}"
    if request.param == "gs":
        google = pafs.GcsFileSystem(
            anonymous=True, scheme="http", endpoint_override=place, retry_time_limit=timedelta(seconds=5)
        )
        given = {"anonymous": "true", "endpoint": endpoint, "retry_time_limit": "5"}
        return Store(f"gs://box/{folder}", google, given, folder)
    azure = pafs.AzureFileSystem(
        account_name="devstoreaccount1",
        account_key=KEY,
        blob_storage_authority=place,
        dfs_storage_authority=place,
        blob_storage_scheme="http",
        dfs_storage_scheme="http",
    )
    azure.create_dir("box")
    url = f"abfs://box@devstoreaccount1.blob.core.windows.net/{folder}"
    return Store(url, azure, {"account_key": KEY, "endpoint": endpoint}, folder)


def test_the_same_bits_as_from_a_disk(store: Store, tmp_path: Path) -> None:
    for day in range(3):
        folder = tmp_path / "t" / f"day={day}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"x": RNG.lognormal(size=3000)}), folder / "0.parquet")
        store.put(f"t/day={day}/0.parquet", (folder / "0.parquet").read_bytes())
    local = dm.mean(tmp_path / "t", "x", rng=1)
    for name in ("t", "t/day=*/*.parquet", "t/**/*.parquet"):
        found = dm.mean(dm.scan(f"{store.url}/{name}", storage_options=store.options), "x", rng=1)
        assert (found.estimate, found.interval) == (local.estimate, local.interval)
        assert found.plain_estimate == local.plain_estimate


def test_large_objects_are_read_by_ranges(store: Store) -> None:
    x = RNG.normal(size=400_000)
    store.write("t/0.parquet", x=x, y=x)
    found = dm.mean(dm.scan(f"{store.url}/t", storage_options=store.options), "x")
    assert found.n_rows == x.size and found.plain_estimate == pytest.approx(x.mean(), abs=1e-12)


def test_replaced_objects_and_tables(store: Store) -> None:
    store.write("t/0.parquet", x=np.full(1000, 1.0))
    source = open_lake(f"{store.url}/t", storage_options=store.options)
    reader = source.reader(ReadOptions(("x",)))
    time.sleep(1.1)  # times of change have whole seconds
    store.write("t/0.parquet", x=np.full(1000, 2.0))
    with pytest.raises(DataError, match=r"changed since planning: 0\.parquet"):
        list(reader.batches(source.files[0]))
    store.put("t/below/_delta_log/0.json", b"{}")
    with pytest.raises(DataError, match="Delta table"):
        open_lake(f"{store.url}/t", storage_options=store.options)


def test_nothing_there(store: Store) -> None:
    with pytest.raises(DataError, match="no such bucket 'none-such'"):
        open_lake(store.url.replace("box", "none-such", 1) + "/t", storage_options=store.options)
    with pytest.raises(DataError, match="no such file or folder"):
        open_lake(f"{store.url}/t-none", storage_options=store.options)
    if store.url.startswith("abfs"):
        wrong = {**store.options, "account_key": "aGlkZGVu"}
        with pytest.raises(ResourceError, match="access denied") as told:
            open_lake(f"{store.url}/t", storage_options=wrong)
        assert "\n" not in str(told.value) and "aGlkZGVu" not in str(told.value)
