"""Manifests for the Dask operator: held against its own definitions, and their programs run."""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from listening import Listening, answered
from programs import ROOT, distmom, program, run, wait_until

FOLDER = ROOT / "distmom/jobs/templates/kubernetes"
Mapping = dict[str, Any]
pytestmark = [pytest.mark.slow, pytest.mark.cluster, pytest.mark.xdist_group("kubernetes")]
KINDS = {"cluster": "daskcluster", "job": "daskjob"}


def closed(schema: object) -> object:
    """A schema that refuses fields it does not know, as the API server drops them silently."""
    if isinstance(schema, list):
        return [closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    inside = {key: closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and "type" in schema:
        inside.setdefault("additionalProperties", False)
    if schema.get("x-kubernetes-int-or-string"):
        inside["type"] = ["integer", "string"]
    return inside


@cache
def definition(kind: str) -> Mapping:
    """What the operator's package says of one kind; the package is not imported."""
    package = importlib.util.find_spec("dask_kubernetes")
    assert package is not None and package.submodule_search_locations
    folder = Path(package.submodule_search_locations[0], "operator/deployment/helm/dask-kubernetes-operator")
    found: Mapping = yaml.load((folder / f"crds/{KINDS[kind]}.yaml").read_text(), yaml.CSafeLoader)
    return found


def complaints(kind: str, manifest: Mapping) -> list[str]:
    from jsonschema import Draft202012Validator

    spec = definition(kind)["spec"]
    assert manifest["kind"] == spec["names"]["kind"]
    versions = {f"{spec['group']}/{version['name']}": version for version in spec["versions"]}
    schema = closed(versions[manifest["apiVersion"]]["schema"]["openAPIV3Schema"])
    rest = {key: value for key, value in manifest.items() if key not in ("apiVersion", "kind", "metadata")}
    return [
        f"{'.'.join(map(str, error.path))}: {error.message}"
        for error in Draft202012Validator(schema).iter_errors(rest)
    ]


def manifests(kind: str, folder: Path, **values: object) -> list[Mapping]:
    (folder / "values.yaml").write_text(yaml.safe_dump(values))
    code, out, err = run(sys.executable, FOLDER / "manifests", kind, "--values", folder / "values.yaml")
    assert code == 0, err
    return list(yaml.safe_load_all(out))


def manifest(kind: str, folder: Path, **values: object) -> Mapping:
    (made,) = (one for one in manifests(kind, folder, **values) if one["kind"] != "NetworkPolicy")
    return made


def pods(made: Mapping) -> dict[str, Mapping]:
    spec = made["spec"]
    cluster = spec["cluster"]["spec"] if "cluster" in spec else spec
    found = {"scheduler": cluster["scheduler"]["spec"], "worker": cluster["worker"]["spec"]}
    return {**found, "job": spec["job"]["spec"]} if "job" in spec else found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("values", [{}, {"tls": "", "lake": "lake", "environment": "credentials"}])
def test_the_operator_takes_it(kind: str, values: Mapping, tmp_path: Path) -> None:
    assert complaints(kind, manifest(kind, tmp_path, **values)) == []


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "wrong",
    [
        {"resource": {}},
        {"image": 7},
        {"env": [{"value": "no name"}]},
        {"livenessProbe": {"httpGet": {"path": "/"}}},
    ],
    ids=["unknown field", "wrong type", "missing name", "missing port"],
)
def test_the_operator_refuses_what_is_wrong(kind: str, wrong: Mapping, tmp_path: Path) -> None:
    made = manifest(kind, tmp_path)
    pods(made)["worker"]["containers"][0].update(wrong)
    assert len(complaints(kind, made)) >= 1


def test_pods_have_limits_probes_and_few_rights(tmp_path: Path) -> None:
    made = manifest("job", tmp_path, worker={"cpu": 2, "memory": "3Gi", "disk": "5Gi"}, lake="lake")
    disks = {"scheduler": "1Gi", "worker": "5Gi", "job": "2Gi"}
    for name, pod in pods(made).items():
        (container,) = pod["containers"]
        size = {"cpu": "2", "memory": "3Gi"} if name == "worker" else {"cpu": "1", "memory": "2Gi"}
        size["ephemeral-storage"] = disks[name]
        assert container["resources"] == {"requests": size, "limits": size}
        scratch = next(volume for volume in pod["volumes"] if volume["name"] == "scratch")
        assert scratch["emptyDir"] == {"sizeLimit": disks[name]}
        assert ("livenessProbe" in container) == ("readinessProbe" in container) == (name != "job")
        assert pod["securityContext"]["runAsNonRoot"] and not pod["automountServiceAccountToken"]
        rights = container["securityContext"]
        assert rights["readOnlyRootFilesystem"] and not rights["allowPrivilegeEscalation"]
        mounts = {mount["name"]: mount.get("readOnly", False) for mount in container["volumeMounts"]}
        assert mounts == {"scratch": False, "tls": True, "lake": True}
        assert {volume["name"] for volume in pod["volumes"]} == set(mounts)


@pytest.mark.parametrize("values", [{"worker": {"cpus": 2}}, {"wokers": 3}])
def test_unknown_values_are_errors(values: Mapping, tmp_path: Path) -> None:
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(values))
    code, out, err = run(sys.executable, FOLDER / "manifests", "job", "--values", tmp_path / "values.yaml")
    assert (code, out, err.count("\n")) == (1, "", 1) and "unknown value" in err


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory, lake: Path) -> Iterator[tuple[Mapping, Any]]:
    """The programs of a job's scheduler and worker run here, behind certificates, as their manifests say."""
    folder = tmp_path_factory.mktemp("pods")
    secret = folder / "tls"
    assert run(ROOT / "deploy/tls/make-certificates", secret, "127.0.0.1")[0] == 0
    made = manifest("job", folder, command=["mean", str(lake), "--column", "x", "--json"])
    port = {"8786": "18786", "8787": "18787", "8788": "18788"}  # of this machine, in place of those of pods

    def here(text: str) -> str:
        for pod_port, local in port.items():
            text = text.replace(pod_port, local)
        text = text.replace("distmom-scheduler:", "127.0.0.1:").replace("$(DASK_WORKER_NAME)", "worker-0")
        return str(secret) + text[4:] if text.startswith("/tls/") else text

    def line(name: str) -> tuple[list[str], dict[str, str]]:
        (container,) = pods(made)[name]["containers"]
        words = [here(word) for word in container["args"]]
        variables = {entry["name"]: here(entry["value"]) for entry in container["env"]}
        variables["NUMBA_CACHE_DIR"] = str(folder / "numba")
        return [sys.executable, "-m", *words], variables

    def healthy(name: str) -> bool:
        (container,) = pods(made)[name]["containers"]
        get = container["livenessProbe"]["httpGet"]
        ports = {entry["name"]: str(entry["containerPort"]) for entry in container["ports"]}
        assert get["scheme"] == "HTTPS"  # which nobody checks the certificate of, as the node does not
        socket = Listening("127.0.0.1", int(here(ports[get["port"]])))
        return answered(socket, get["path"], encrypted=True) == 200

    with ExitStack() as stack:
        for name in ("scheduler", "worker"):
            words, variables = line(name)
            if name == "worker":
                words[words.index("/tmp")] = str(folder / "scratch")
            stack.enter_context(program(*words, log=folder / f"{name}.log", **variables))
            wait_until(lambda name=name: healthy(name), f"health of the {name}")  # type: ignore[misc]
        yield made, line


def test_a_job_gives_the_result_of_this_machine(started: tuple[Mapping, Any], lake: Path) -> None:
    _, line = started
    words, variables = line("job")
    code, out, err = run(*words, **variables)
    assert code == 0, err
    here = distmom("mean", lake, "-c", "x", "--json")
    assert json.loads(out)["results"] == json.loads(here[1])["results"]


def test_their_http_ports_tell_strangers_that_they_live_and_nothing_else(
    started: tuple[Mapping, Any],
) -> None:
    for port in (18787, 18788):
        socket = Listening("127.0.0.1", port)
        assert answered(socket, "/health") is None
        assert answered(socket, "/health", encrypted=True) == 200
        for path in ("/json/identity.json", "/info/main/workers.html", "/metrics", "/api/v1/retire_workers"):
            assert answered(socket, path, encrypted=True) == 404, path


def test_without_its_secret_nothing_runs(started: tuple[Mapping, Any]) -> None:
    _, line = started
    words, _ = line("job")
    code, out, _ = run(*words)
    assert code != 0 and out == ""
