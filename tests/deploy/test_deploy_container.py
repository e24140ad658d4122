"""The image and the compose file of deploy/container: linted, built, and every service run as it says."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from containers import FOLDER, Buildah
from hosts import Host, hosts, skip_without
from programs import distmom, program, run, wait_until

Mapping = dict[str, Any]
pytestmark = [pytest.mark.slow, pytest.mark.cluster, pytest.mark.xdist_group("container")]
MOST_MEGABYTES = 800


@pytest.fixture(scope="module")
def buildah(tmp_path_factory: pytest.TempPathFactory) -> Buildah:
    skip_without("buildah", "mmdebstrap")
    return Buildah(tmp_path_factory.mktemp("container"))


@pytest.fixture(scope="module")
def image(buildah: Buildah) -> str:
    return buildah.build()


def composed() -> Mapping:
    found: Mapping = yaml.safe_load((FOLDER / "compose.yaml").read_text())
    return found


def check(compose: Mapping) -> None:
    from compose_spec import PyCompose

    PyCompose.from_json(json.dumps(compose)).validate()


def test_the_linter_has_nothing_to_say() -> None:
    assert run(Path(sys.executable).with_name("hadolint"), FOLDER / "Dockerfile") == (0, "", "")


def test_the_compose_file_holds_to_its_specification() -> None:
    compose = composed()
    check(compose)
    for service in compose["services"].values():
        assert set(service.get("depends_on", ())) <= set(compose["services"])


@pytest.mark.parametrize(
    "wrong",
    [{"comand": []}, {"depends_on": {"scheduler": {"condition": "healthy"}}}, {"networks": ["other"]}],
    ids=["unknown field", "unknown condition", "unknown network"],
)
def test_a_wrong_compose_file_is_refused(wrong: Mapping) -> None:
    compose = composed()
    compose["services"]["worker"].update(wrong)
    with pytest.raises(ValueError):
        check(compose)


@pytest.mark.timeout(2_000)  # the first build on a machine
def test_the_image(buildah: Buildah, image: str, lake: Path) -> None:
    """Nobody in particular runs what the list says, and gets the numbers of this machine."""
    script = "id -u; touch /opt/distmom/x 2>&1; distmom mean /lake -c x --json"
    with buildah.container(image) as container:
        code, out, err = run(
            *buildah.run(container, ["sh", "-c", script], "--volume", f"{lake}:/lake:ro"), **buildah.settings
        )
        where = "import importlib.metadata as m; [print(d.name, d.version) for d in m.distributions()]"
        packages = run(*buildah.run(container, ["python3", "-c", where]), **buildah.settings)[1]
    assert code == 0, err
    user, refused, answer = out.split("\n", 2)
    assert user == "1000" and "Permission denied" in refused
    here = json.loads(distmom("mean", lake, "-c", "x", "--json")[1])
    assert json.loads(answer)["results"] == here["results"]
    fixed = re.findall(r"^(\S+)==(\S+)$", (FOLDER / "packages.txt").read_text(), re.MULTILINE)
    found = [tuple(line.split()) for line in packages.splitlines() if not line.startswith("distmom ")]
    assert sorted(found) == sorted(fixed)
    size, unit = buildah("images", "--format", "{{.Size}}", image).split()
    assert unit == "MB" and float(size) < MOST_MEGABYTES


class Services:
    """Containers of a compose file, each on a host of its own: image, command, environment, names."""

    def __init__(self, buildah: Buildah, image: str, machines: dict[str, Host], logs: Path) -> None:
        self.buildah, self.image, self.machines, self.logs = buildah, image, machines, logs
        self.services = composed()["services"]
        self.stack = ExitStack()

    def words(self, name: str, machine: str) -> tuple[object, ...]:
        """What runs on a machine."""
        service, host = self.services[name], self.machines[machine]
        if service["image"] != "distmom":  # published elsewhere: its program is run as it is installed here
            assert service["image"].startswith("motoserver/moto:")
            return host.inside(sys.executable, "-m", "moto.server", *service["command"])
        container = self.stack.enter_context(self.buildah.container(self.image, *self.names))
        variables = [f"--env={name}={value}" for name, value in service.get("environment", {}).items()]
        return host.inside(*self.buildah.run(container, service["command"], *variables))

    @property
    def names(self) -> list[str]:
        return [f"--add-host={name}:{host.address}" for name, host in self.machines.items()]

    def start(self, name: str, machine: str) -> None:
        log = self.logs / f"{machine}.log"
        self.stack.enter_context(program(*self.words(name, machine), log=log, **self.buildah.settings))

    def healthy(self, machine: str) -> bool:
        """What the image asks a container, asked from its host."""
        kind, *command = self.buildah.inspect(self.image)["Docker"]["config"]["Healthcheck"]["Test"]
        assert kind == "CMD"
        return run(*self.machines[machine].inside(*command))[0] == 0


@pytest.fixture(scope="module")
def services(buildah: Buildah, image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    with hosts("scheduler", "worker-1", "worker-2", "store", "job") as machines:
        made = Services(buildah, image, machines, tmp_path_factory.mktemp("logs"))
        with made.stack:
            for machine in ("scheduler", "worker-1", "worker-2", "store"):
                made.start(machine.split("-")[0], machine)
                if machine != "store":
                    wait_until(lambda machine=machine: made.healthy(machine), f"health of {machine}")  # type: ignore[misc]
            yield made


FILL = """
import sys
import pyarrow.fs as fs
store = fs.S3FileSystem(access_key=sys.argv[1], secret_key=sys.argv[2], region="us-east-1", scheme="http",
                        endpoint_override="127.0.0.1:9000", allow_bucket_creation=True)
store.create_dir("lake")
fs.copy_files(sys.argv[3], "lake", destination_filesystem=store)
"""


@pytest.mark.timeout(2_000)
def test_a_job_among_the_services(services: Services, lake: Path, tmp_path: Path) -> None:
    for file in lake.iterdir():
        pq.write_table(pq.read_table(file).rename_columns(["amount"]), tmp_path / file.name)
    store = services.machines["store"]
    keys = [
        services.services["job"]["environment"][f"AWS_{name}"]
        for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY")
    ]
    code, _, err = run(*store.inside(sys.executable, "-c", FILL, *keys, tmp_path))
    assert code == 0, err
    words = services.words("job", "job")
    code, out, err = run(*words, "--json", **services.buildah.settings)
    assert code == 0, err
    here = distmom("mean", tmp_path, "-c", "amount", "--json")
    assert json.loads(out)["results"] == json.loads(here[1])["results"]
