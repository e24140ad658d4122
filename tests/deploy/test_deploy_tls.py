"""A cluster behind certificates: members work, everybody else is refused."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from programs import ROOT, distmom, program, run, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.cluster, pytest.mark.xdist_group("tls")]


def certificates(folder: Path) -> Path:
    code, out, err = run(ROOT / "deploy/tls/make-certificates", folder, "127.0.0.1", "localhost")
    assert code == 0, err
    assert "IP:127.0.0.1,DNS:localhost" in out
    return folder


@pytest.fixture(scope="module")
def members(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return certificates(tmp_path_factory.mktemp("tls") / "members")


@pytest.fixture(scope="module")
def address(members: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of a scheduler with one worker, started as deploy/README.md says."""
    folder = tmp_path_factory.mktemp("tls-cluster")
    dask, secret = (sys.executable, "-m", "dask"), {"DASK_CONFIG": str(members)}
    told = folder / "scheduler.json"
    words = ("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", told)
    with program(*dask, *words, log=folder / "scheduler.log", **secret):
        wait_until(told.exists, "scheduler")
        found: str = json.loads(told.read_text())["address"]
        assert found.startswith("tls://127.0.0.1:")
        words = ("worker", found, "--host", "127.0.0.1", "--nthreads", "1", "--no-dashboard")
        scratch = ("--local-directory", folder / "scratch")
        with program(*dask, *words, *scratch, log=folder / "worker.log", **secret):
            yield found


def test_keys_are_for_their_owner_alone(members: Path) -> None:
    for name in ("ca-key.pem", "key.pem"):
        assert stat.S_IMODE((members / name).stat().st_mode) == 0o600


def test_certificates_are_not_overwritten(members: Path) -> None:
    before = (members / "ca.pem").read_bytes()
    code, _, err = run(ROOT / "deploy/tls/make-certificates", members)
    assert (code, err) == (2, f"make-certificates: {members}/ca.pem exists; name a new folder\n")
    assert (members / "ca.pem").read_bytes() == before


SEEN_BY_DASK = """
import dask, json
from distributed.security import Security
assert all(Security().get_connection_args(who)["ssl_context"] for who in ("scheduler", "worker", "client"))
print(json.dumps(dask.config.get("distributed.scheduler.dashboard.tls")))
"""


@pytest.mark.parametrize(
    "name",
    [
        "a: b",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("it's #1", 'a "b" {c}', "-x", "~$HOME*%")),
    ],
)
def test_folders_of_any_name(tmp_path: Path, name: str) -> None:
    """Named as a user would from the folder above, and read by Dask itself."""
    done = subprocess.run(
        [ROOT / "deploy/tls/make-certificates", name, "127.0.0.1"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    folder = tmp_path / name
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    said = done.stdout.splitlines()[-1].removeprefix("    export DASK_CONFIG=")
    assert run("bash", "-c", f"printf %s {said}")[1] == str(folder)
    code, out, err = run(sys.executable, "-c", SEEN_BY_DASK, DASK_CONFIG=str(folder))
    assert code == 0, err
    assert {Path(file) for file in json.loads(out).values()} == {
        folder / name for name in ("ca.pem", "cert.pem", "key.pem")
    }


@pytest.mark.parametrize("name", ["", "a\nb", "a\n", "a\tb", b"\xff"])
def test_folders_that_no_configuration_can_name_are_refused(tmp_path: Path, name: str | bytes) -> None:
    command = [os.fsencode(ROOT / "deploy/tls/make-certificates"), name]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert "without control characters" in done.stderr and done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("script", ["tls/make-certificates", "ssh/cluster"])
@pytest.mark.parametrize("word", [(), ("--help",), ("-h",)])
def test_scripts_say_how_they_are_used(tmp_path: Path, script: str, word: tuple[str, ...]) -> None:
    command = [ROOT / "deploy" / script, *word]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and f"deploy/{script} " in done.stdout and not done.stderr
    assert "YAML and Dask" not in done.stdout  # what the script says to its reader
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("host", ["evil,DNS:x", "a b", "", "-x", "a\nb", "x,IP:1.2.3.4"])
def test_hosts_are_names_or_addresses(tmp_path: Path, host: str) -> None:
    code, _, err = run(ROOT / "deploy/tls/make-certificates", tmp_path / "tls", host)
    assert code == 2
    assert "no name or address" in err
    assert not (tmp_path / "tls").exists()


def test_other_names_of_hosts(tmp_path: Path) -> None:
    hosts = ("::1", "fe80::1", "*.cluster.local", "node_1", "10.0.0.7")
    code, out, err = run(ROOT / "deploy/tls/make-certificates", tmp_path / "tls", *hosts)
    assert code == 0, err
    assert "IP:::1,IP:fe80::1,DNS:*.cluster.local,DNS:node_1,IP:10.0.0.7" in out


def test_a_member_gets_the_answer_of_this_machine(address: str, members: Path, lake: Path) -> None:
    task = ("mean", lake, "-c", "x", "--json")
    code, out, err = distmom(*task, "--scheduler", address, DASK_CONFIG=str(members))
    assert code == 0, err
    here = distmom(*task)
    assert json.loads(out)["results"] == json.loads(here[1])["results"]


@pytest.mark.parametrize("scheme", ["tls", pytest.param("tcp", marks=pytest.mark.slow)])
def test_without_a_certificate_nothing_runs(address: str, lake: Path, scheme: str) -> None:
    words = ("mean", lake, "-c", "x", "--scheduler", address.replace("tls", scheme))
    code, out, err = distmom(*words, DASK_CONFIG=str(lake))  # a folder without configuration
    assert (code, out, err.count("\n")) == (2 if scheme == "tls" else 6, "", 1), err
    assert ("none are configured in Dask" if scheme == "tls" else "needs tls://") in err


def test_a_certificate_of_another_authority_is_refused(address: str, lake: Path, tmp_path: Path) -> None:
    others = certificates(tmp_path / "others")
    words = ("mean", lake, "-c", "x", "--scheduler", address)
    code, out, err = distmom(*words, DASK_CONFIG=str(others))
    assert (code, out, err.count("\n")) == (6, "", 1), err


def test_a_certificate_that_is_gone_is_one_line(members: Path, lake: Path, tmp_path: Path) -> None:
    text = (members / "distributed.yaml").read_text().replace("cert.pem", "gone.pem")
    (tmp_path / "distributed.yaml").write_text(text)
    words = ("mean", lake, "-c", "x", "--scheduler", "tls://127.0.0.1:1")
    code, out, err = distmom(*words, DASK_CONFIG=str(tmp_path))
    assert (code, out, err.count("\n")) == (2, "", 1) and "cannot be used" in err, err
