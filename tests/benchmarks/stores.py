"""Many small objects on an S3 server: seconds of listing and of a mean, requests, and how many at once.

    python -m tests.benchmarks.stores [--objects 20000] [--threads 8] [--pause 0.02]

Starts the S3 server of the tests, writes the objects (two rows each), and reads them twice: as the server
gives them, and through a proxy that counts requests and answers each after a pause, as a distant store would.
The server runs on this machine and takes processors too: compare with how many requests it answers a second.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

import distmom as dm
from distmom.lake import open_lake

sys.path.insert(0, str(Path(__file__).parents[1] / "stores"))
from conftest import KEYS, serving
from slow_proxy import Proxy

MOTO = (sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "{port}")
"""The server."""


def filled(port: int, n: int) -> pafs.FileSystem:
    """A filesystem of the server, with ``n`` objects under ``box/t``."""
    store = pafs.S3FileSystem(
        **KEYS, scheme="http", endpoint_override=f"127.0.0.1:{port}", allow_bucket_creation=True
    )
    store.create_dir("box")
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table({"x": [1.0, 3.0]}), sink)

    def put(number: int) -> None:
        with store.open_output_stream(f"box/t/{number:06}.parquet") as stream:
            stream.write(sink.getvalue())

    sink.close()
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(put, range(n)))
    return store


def measure(endpoint: str, threads: int) -> tuple[float, float]:
    """Seconds of a listing and of a whole run."""
    options = {**KEYS, "endpoint": endpoint}
    start = time.perf_counter()
    open_lake("s3://box/t", storage_options=options)
    listed = time.perf_counter()
    found = dm.mean(dm.scan("s3://box/t", storage_options=options), "x", rng=0, executor=dm.Threads(threads))
    assert found.plain_estimate == 2.0
    return listed - start, time.perf_counter() - listed


def main() -> None:
    """Print one line for each measurement."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=20_000)
    parser.add_argument("--threads", type=int, default=8)
    parser.add_argument("--pause", type=float, default=0.02, help="seconds before each answer of the proxy")
    given = parser.parse_args()
    with serving(*MOTO) as port:
        start = time.perf_counter()
        store = filled(port, given.objects)
        print(f"wrote {given.objects:,} objects in {time.perf_counter() - start:.0f} s")
        start = time.perf_counter()
        with ThreadPoolExecutor(given.threads) as pool:
            paths = [f"box/t/{number:06}.parquet" for number in range(min(given.objects, 2_000))]
            list(pool.map(store.get_file_info, paths))
        each = (time.perf_counter() - start) / len(paths)
        print(f"the server answers {1 / each:,.0f} requests for a head a second")
        listing, run = measure(f"http://127.0.0.1:{port}", given.threads)
        print(f"directly: listed in {listing:.1f} s, mean in {run:.1f} s with {given.threads} threads")
        with Proxy(port, pause=given.pause) as proxy:
            listing, run = measure(proxy.endpoint, given.threads)
        print(f"{given.pause} s a request: listed in {listing:.1f} s, mean in {run:.1f} s")
        n = len(proxy.requests)
        print(f"{n:,} requests, {n / given.objects:.2f} an object, at most {proxy.most_in_flight} at once")


if __name__ == "__main__":
    main()
