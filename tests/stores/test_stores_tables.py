"""Tables in an object store: their logs and their files are read with the same storage options."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from slow_proxy import Fault, Proxy

import distmom as dm
from distmom.errors import DistmomError
from distmom.lake.tables.delta import read_delta
from distmom.lake.tables.table_options import delta_options, iceberg_options

VALUES = np.random.default_rng(5).lognormal(size=3000)


def bits(found: Any) -> tuple[object, ...]:
    return found.estimate, found.interval, found.plain_estimate, found.n_rows, found.block_estimates.tobytes()


def test_a_delta_table(
    tmp_path: Path, store: Any, put: Callable[[str, bytes], None], options: dict[str, str]
) -> None:
    local = tmp_path / "t"
    for i in range(3):
        table = pa.table({"x": VALUES[i::3], "k": pa.array(["p q", "r"] * 500)})
        write_deltalake(str(local), table, mode="append", partition_by=["k"])
    DeltaTable(str(local)).delete("x > 3")
    for path in local.rglob("*"):
        if path.is_file():
            put(f"t/{path.relative_to(local)}", path.read_bytes())
    for version in ("", "@v1"):
        wanted = dm.mean(f"{local}{version}", "x", rng=1)
        found = dm.mean(dm.scan(f"s3://{store[1]}/t{version}", storage_options=options), "x", rng=1)
        assert bits(found) == bits(wanted)
    assert found.data["tables"] == [{"format": "delta", "version": 1, "path": f"s3://{store[1]}/t"}]
    wrong = {**options, "secret_key": "wrong-EXAMPLE-secret"}
    with pytest.raises(DistmomError) as told:
        dm.mean(dm.scan(f"s3://{store[1]}/t@v9", storage_options=wrong), "x")
    assert "EXAMPLE" not in str(told.value) and "\n" not in str(told.value)


def test_a_state_reads_the_objects_that_a_version_adds(
    tmp_path: Path, store: Any, put: Callable[[str, bytes], None], options: dict[str, str]
) -> None:
    local, state = tmp_path / "t", tmp_path / "kept"
    there: set[Path] = set()

    def upload() -> None:
        new = {path for path in local.rglob("*") if path.is_file()} - there
        for path in new:
            put(f"t/{path.relative_to(local)}", path.read_bytes())
        there.update(new)

    how: dict[str, Any] = {"rng": 1, "blocks": 5}

    def table() -> dm.Scan:  # of the newest version
        return dm.scan(f"s3://{store[1]}/t", storage_options=options)

    for i in range(3):
        write_deltalake(str(local), pa.table({"x": VALUES[i::3]}), mode="append")
        upload()
        found = dm.mean(table(), "x", state=state, **how)
        assert found.data["tables"][0]["version"] == i
        assert found.data["state"]["n_files_read"] == 1 and found.data["n_files"] == i + 1
    whole = dm.mean(table(), "x", **how)
    np.testing.assert_allclose(found.block_estimates, whole.block_estimates, rtol=1e-12)
    DeltaTable(str(local)).delete("x > 3")
    upload()
    with pytest.raises(dm.DataError, match="restart"):
        dm.mean(table(), "x", state=state, **how)
    again = dm.mean(table(), "x", state=dm.State(state, on_change="restart"), **how)
    assert bits(again) == bits(dm.mean(table(), "x", **how)) and again.n_rows == (VALUES <= 3).sum()
    assert not any(secret.encode() in state.read_bytes() for secret in ("very-secret-EXAMPLE", "AKIAEXAMPLE"))


def test_an_iceberg_table(tmp_path: Path, store: Any, options: dict[str, str]) -> None:
    reach = {
        "s3.endpoint": options["endpoint"],
        "s3.access-key-id": options["access_key"],
        "s3.secret-access-key": options["secret_key"],
        "s3.region": options["region"],
    }
    uri = f"sqlite:///{tmp_path}/catalog.db"
    catalog = SqlCatalog("store", uri=uri, warehouse=f"s3://{store[1]}/warehouse", **reach)
    catalog.create_namespace("shop")
    table = catalog.create_table("shop.t", schema=pa.schema({"x": pa.float64()}))
    for i in range(2):
        table.append(pa.table({"x": VALUES[i::2]}))
    catalog.close()
    found = dm.mean(dm.scan(table.metadata_location, storage_options=options), "x", rng=1, blocks=5)
    assert found.n_rows == VALUES.size and found.data["n_files"] == 2
    np.testing.assert_allclose(found.plain_estimate, VALUES.mean(), rtol=1e-12)


@pytest.mark.slow
def test_requests_for_a_log_are_made_again_as_those_for_files_are(
    tmp_path: Path, store: Any, put: Callable[[str, bytes], None], options: dict[str, str], s3_port: int
) -> None:
    local, address = tmp_path / "t", f"s3://{store[1]}/t"
    write_deltalake(str(local), pa.table({"x": VALUES}))
    for path in local.rglob("*"):
        if path.is_file():
            put(f"t/{path.relative_to(local)}", path.read_bytes())
    for given, n_requests in (({"max_attempts": 1}, 1), ({"max_attempts": 3}, 3)):
        with Proxy(s3_port, fault=Fault("503 SlowDown", 1.0)) as proxy:
            reach = delta_options(address, {**options, "endpoint": proxy.endpoint, **given})
            with pytest.raises(DistmomError, match="log cannot be read"):
                read_delta(address, None, reach, address)
            first = proxy.requests[0]
            assert proxy.requests.count(first) == n_requests
    with Proxy(s3_port, fault=Fault("503 SlowDown", 0.3)) as proxy:
        found = dm.scan(address, storage_options={**options, "endpoint": proxy.endpoint})
        assert bits(dm.mean(found, "x", rng=1)) == bits(dm.mean(local, "x", rng=1)) and proxy.n_faults


def test_limits_of_time_go_along() -> None:
    given = {"region": "us-east-1", "retry_time_limit": 7, "request_timeout": 2, "connect_timeout": 3}
    found = delta_options("s3://box/t", given)
    assert {found[name] for name in ("retry_timeout", "timeout", "connect_timeout")} == {"7s", "2s", "3s"}
    known = iceberg_options("s3://box/t", given)
    assert (known["s3.request-timeout"], known["s3.connect-timeout"]) == ("2", "3")
    assert delta_options("/local/t", {}) == {} == iceberg_options("/local/t", {})
