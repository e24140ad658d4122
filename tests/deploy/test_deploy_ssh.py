"""deploy/ssh on hosts that are network namespaces with SSH servers. Needs root, and Debian's package."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import psutil
import pytest
from hosts import Host, hosts, skip_without
from listening import family, listening
from programs import ROOT, distmom, program, run, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.cluster, pytest.mark.xdist_group("ssh")]
CLUSTER = ROOT / "deploy/ssh/cluster"
NODES = ("node1", "node2", "node3")

SERVER = """
HostKey {folder}/key
AuthorizedKeysFile {folder}/key.pub
PidFile none
StrictModes no
UsePAM no
SetEnv DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP=11s PYTHONPATH={python_path}
"""
CLIENT = """
IdentityFile {folder}/key
User root
StrictHostKeyChecking no
UserKnownHostsFile /dev/null
"""


class Network:
    """Three hosts with SSH servers, and one from which they are used."""

    def __init__(self, folder: Path, machines: dict[str, Host]) -> None:
        self.machines, self.file = machines, folder / "hosts"
        self.file.write_text("# host, workers\n" + "".join(f"{machines[name].address} 1\n" for name in NODES))
        self.settings = {
            "DISTMOM_BIN": str(Path(sys.executable).parent),
            "DISTMOM_SSH": f"-F {folder / 'client'}",
        }

    @property
    def scheduler(self) -> str:
        return self.machines[NODES[0]].address

    def words(self, *words: object) -> tuple[object, ...]:
        return self.machines["client"].inside(CLUSTER, self.file, *words)


@pytest.fixture(scope="module")
def network(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Network]:
    skip_without("sshd", "ssh", "ssh-keygen")
    folder = tmp_path_factory.mktemp("ssh")
    for name, text in (("server", SERVER), ("client", CLIENT)):
        (folder / name).write_text(text.format(folder=folder, python_path=os.environ.get("PYTHONPATH", "")))
    assert run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "key")[0] == 0
    Path("/run/sshd").mkdir(
        exist_ok=True
    )  # where it locks itself up; Debian makes it when the service starts
    with hosts(*NODES, "client") as machines, ExitStack() as stack:
        for name in NODES:
            words = machines[name].inside("/usr/sbin/sshd", "-D", "-e", "-f", folder / "server")
            stack.enter_context(program(*words, log=folder / f"{name}.log"))
        yield Network(folder, machines)


def test_a_command_behind_certificates_gives_the_result_of_this_machine(
    network: Network, lake: Path, tmp_path: Path
) -> None:
    nodes = [network.machines[name] for name in NODES]
    tls = tmp_path / "tls"
    assert run(ROOT / "deploy/tls/make-certificates", tls, *[node.address for node in nodes])[0] == 0
    task = ("mean", lake, "-c", "x", "--json")
    code, out, err = run(*network.words(*task), **network.settings, DISTMOM_TLS=str(tls))
    assert code == 0, err
    assert "--scheduler tls://" in out
    assert json.loads(out)["results"] == json.loads(distmom(*task)[1])["results"]
    wait_until(
        lambda: all(len(node.processes()) == 1 for node in nodes), "end of all but the SSH servers", 30
    )


def words_of(process: psutil.Process) -> str:
    with suppress(psutil.Error):  # over by now
        return " ".join(process.cmdline())
    return ""


def test_hosts_listen_on_the_addresses_of_the_list_alone(network: Network, tmp_path: Path) -> None:
    command = network.machines["client"].inside(CLUSTER, network.file)
    with program(*command, log=tmp_path / "log", **network.settings) as process:
        for name in NODES:
            node = network.machines[name]
            wanted = {node.address, "127.0.0.1"}

            def found(node: Host = node) -> set[str]:
                of_dask = [one for one in family(*node.processes()) if "dask" in words_of(one)]
                return {one.address for process in of_dask for one in listening(process.pid)}

            wait_until(lambda: found() == wanted, f"sockets of {name} on {wanted}")  # noqa: B023
        process.terminate()
        process.wait(30)


def test_a_command_that_fails_says_how(network: Network, lake: Path) -> None:
    code, _, err = run(*network.words("mean", lake, "-c", "no such column"), **network.settings)
    assert code == 2 and "no such column" in err


def test_a_host_without_a_server(network: Network, lake: Path, tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text(f"{network.machines['client'].address}\n")
    words = network.machines["client"].inside(CLUSTER, tmp_path / "hosts", "mean", lake, "-c", "x")
    code, out, err = run(*words, **network.settings)
    assert (code, out) == (6, "") and "refused" in err and "no scheduler on" in err.splitlines()[-1]


BUSY = """
import sys, time
from distributed import Client
with Client(sys.argv[1], set_as_default=False) as client:
    while not (len(busy := client.processing()) == 3 and all(busy.values())):
        time.sleep(0.05)
"""


def test_a_host_is_cut_off_in_the_middle(
    network: Network, long_lake: Path, few_rows: str, tmp_path: Path
) -> None:
    """Nobody tells the scheduler: it learns of it since no packet is acknowledged for eleven seconds."""
    task = ("mean", long_lake, "-c", "x")
    there, here = tmp_path / "there.json", tmp_path / "here.json"
    words = network.words(*task, "--batch-rows", few_rows, "--output", there)
    watch = network.machines["client"].inside(sys.executable, "-c", BUSY, f"tcp://{network.scheduler}:8786")
    with program(*words, log=tmp_path / "log", **network.settings) as process:
        assert run(*watch)[0] == 0
        network.machines["node3"].cut_off()
        assert process.poll() is None, "the run was over before"
        assert process.wait(300) == 0, (tmp_path / "log").read_text()
    assert distmom(*task, "--output", here)[0] == 0
    assert json.loads(there.read_text())["results"] == json.loads(here.read_text())["results"]
