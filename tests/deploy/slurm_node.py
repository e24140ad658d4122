"""A SLURM of one node on this machine, in folders and on ports of its own."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from programs import program, run, wait_until

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scontrol")

CONFIGURATION = """
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmdPort={node_port}
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge/socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MailProg=/bin/true
MpiDefault=none
ReturnToService=2
KillWait=5
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=16 RealMemory=16000 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def missing_programs() -> list[str]:
    """Programs of Debian's packages slurm-wlm and munge that are not installed."""
    paths = os.environ.get("PATH", "") + ":/usr/sbin"
    return [name for name in PROGRAMS if shutil.which(name, path=paths) is None]


def _free_ports(n: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(n)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


@contextmanager
def slurm(folder: Path) -> Iterator[dict[str, str]]:
    """Environment with which SLURM's commands reach the cluster."""
    host = socket.gethostname().split(".")[0]
    port, node_port = _free_ports(2)
    for name in ("munge", "state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge" / "key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    for path in (folder / "munge", key):
        shutil.chown(path, "munge", "munge")
    configuration = folder / "slurm.conf"
    configuration.write_text(
        CONFIGURATION.format(host=host, port=port, node_port=node_port, folder=folder).lstrip()
    )
    settings = {"SLURM_CONF": str(configuration), "PATH": os.environ["PATH"] + ":/usr/sbin"}

    def munged(*words: object) -> None:
        """Call munged as the user it insists on."""
        command = ["munged", f"--socket={folder}/munge/socket", *map(str, words)]
        subprocess.run(command, user="munge", env={**os.environ, **settings}, check=True, timeout=240)

    munged("--key-file", key, *[f"--{name}-file={folder}/munge/{name}" for name in ("pid", "log", "seed")])
    try:
        with (
            program("slurmctld", "-D", log=folder / "slurmctld.log", **settings),
            program("slurmd", "-D", "-N", host, log=folder / "slurmd.log", **settings),
        ):
            wait_until(lambda: "idle" in run("sinfo", "-h", "-o", "%t", **settings)[1], "idle node")
            yield settings
            run("scancel", "--user=root", **settings)
            wait_until(lambda: not run("squeue", "-h", **settings)[1].strip(), "empty queue")
    finally:
        munged("--stop")
