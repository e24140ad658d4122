"""A real S3 server in a process of its own, for all tests of this folder."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

KEYS = {"access_key": "AKIAEXAMPLE", "secret_key": "very-secret-EXAMPLE", "region": "us-east-1"}


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "s3_port" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.xdist_group("s3"))  # one server


@pytest.fixture(scope="session", autouse=True)
def no_stray_environment() -> Iterator[None]:
    """Neither credentials, endpoints nor proxies of whoever runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_PROFILE", "AWS_SESSION_TOKEN"):
            patch.delenv(name, raising=False)
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            patch.delenv(name, raising=False)
            patch.delenv(name.upper(), raising=False)
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        patch.setenv("AWS_CONFIG_FILE", "/nonexistent")
        patch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
        yield


@contextmanager
def serving(*words: str) -> Iterator[int]:
    """A server in a process of its own; ``{port}`` in its command is the free port that is given back."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    command = [word.format(port=port) for word in words]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while True:
            assert server.poll() is None, f"{command[0]} ended"
            try:
                socket.create_connection(("127.0.0.1", port), 1).close()
                break
            except OSError:
                assert time.monotonic() < deadline, f"{command[0]} did not listen within a minute"
                time.sleep(0.05)
        yield port
    finally:
        server.terminate()
        server.wait(10)


@pytest.fixture(scope="session")
def s3_port(no_stray_environment: None) -> Iterator[int]:
    """The port of a moto server."""
    with serving(sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", "{port}") as port:
        yield port


@pytest.fixture(scope="session")
def gs_port(no_stray_environment: None) -> Iterator[int]:
    """The port of a Google Cloud Storage emulator with the bucket ``box``."""
    with serving(sys.executable, str(Path(__file__).with_name("gs_server.py")), "{port}") as port:
        yield port


@pytest.fixture(scope="session")
def abfs_port(no_stray_environment: None) -> Iterator[int]:
    """The port of Azurite, which the continuous-integration script installs."""
    program = shutil.which("azurite-blob")
    if program is None:
        pytest.skip("azurite-blob is not installed: npm install --global azurite")
    flags = ["--inMemoryPersistence", "--skipApiVersionCheck", "--silent", "--disableTelemetry"]
    with serving(program, "--blobHost", "127.0.0.1", "--blobPort", "{port}", *flags) as port:
        yield port


@pytest.fixture
def options(s3_port: int) -> dict[str, str]:
    """Storage options that reach the server."""
    return {**KEYS, "endpoint": f"http://127.0.0.1:{s3_port}"}


_NUMBERS = count()


@pytest.fixture
def store(s3_port: int) -> tuple[pafs.FileSystem, str]:
    """A filesystem that writes, and a fresh bucket."""
    filesystem = pafs.S3FileSystem(
        **KEYS, scheme="http", endpoint_override=f"127.0.0.1:{s3_port}", allow_bucket_creation=True
    )
    bucket = f"bucket{next(_NUMBERS)}"
    filesystem.create_dir(bucket)
    return filesystem, bucket


@pytest.fixture
def write(store: tuple[pafs.FileSystem, str]) -> Callable[..., None]:
    """Write a Parquet object of the bucket: ``write("t/0.parquet", x=…)``."""
    filesystem, bucket = store

    def write_object(key: str, row_group_size: int | None = None, **columns: Any) -> None:
        table = pa.table({name: np.asarray(values) for name, values in columns.items()})
        with filesystem.open_output_stream(f"{bucket}/{key}") as stream:
            pq.write_table(table, stream, row_group_size=row_group_size)

    return write_object


@pytest.fixture
def put(store: tuple[pafs.FileSystem, str]) -> Callable[[str, bytes], None]:
    """Write an object of the bucket."""
    filesystem, bucket = store

    def put_object(key: str, data: bytes) -> None:
        with filesystem.open_output_stream(f"{bucket}/{key}") as stream:
            stream.write(data)

    return put_object


@pytest.fixture
def inproc_client() -> Iterator[Any]:
    """Two workers in this process; none of them has credentials of its own."""
    from distributed import Client, LocalCluster

    quiet = {"dashboard_address": None, "scheduler_kwargs": {"dashboard_address": "127.0.0.1:0"}}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, processes=False, **quiet) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client
