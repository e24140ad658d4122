"""Pods of the manifests against the Pod Security Standard "restricted", rule by rule; their network."""

from __future__ import annotations

import copy
import operator
from collections.abc import Callable, Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from test_deploy_kubernetes import KINDS, Mapping, manifests, pods

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("kubernetes")]
VOLUMES = {
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "persistentVolumeClaim",
    "projected",
    "secret",
}


def containers(pod: Mapping) -> Iterator[Mapping]:
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        yield from pod.get(kind, ())


def rights(container: Mapping) -> Mapping:
    found: Mapping = container.get("securityContext", {})
    return found


def either(pod: Mapping, field: str, good: Callable[[Any], bool]) -> bool:
    """Whether each container, or the pod for those that say nothing, has a good value; none is bad."""
    general = pod.get("securityContext", {}).get(field)
    return all(good(rights(one).get(field, general)) for one in containers(pod))


# https://kubernetes.io/docs/concepts/security/pod-security-standards: "baseline" and what "restricted" adds
RULES: dict[str, Callable[[Mapping], bool]] = {
    "no namespaces of the host": lambda pod: (
        not any(pod.get(f"host{name}") for name in ("Network", "PID", "IPC"))
    ),
    "not privileged": lambda pod: not any(rights(one).get("privileged") for one in containers(pod)),
    "no ports of the host": lambda pod: (
        not any(port.get("hostPort") for one in containers(pod) for port in one.get("ports", ()))
    ),
    "harmless volumes": lambda pod: all(
        set(volume) - {"name"} <= VOLUMES for volume in pod.get("volumes", ())
    ),
    "no other user space": lambda pod: all(
        rights(one).get("procMount", "Default") == "Default" for one in containers(pod)
    ),
    "no settings of the kernel": lambda pod: not pod.get("securityContext", {}).get("sysctls"),
    "no escalation": lambda pod: all(
        rights(one).get("allowPrivilegeEscalation") is False for one in containers(pod)
    ),
    "not root": lambda pod: either(pod, "runAsNonRoot", lambda value: value is True),
    "no number of root": lambda pod: either(pod, "runAsUser", lambda value: value != 0),
    "filtered calls": lambda pod: either(
        pod, "seccompProfile", lambda value: (value or {}).get("type") in ("RuntimeDefault", "Localhost")
    ),
    "no capabilities": lambda pod: all(
        "ALL" in rights(one).get("capabilities", {}).get("drop", ())
        and set(rights(one).get("capabilities", {}).get("add", ())) <= {"NET_BIND_SERVICE"}
        for one in containers(pod)
    ),
}

SECURITY = ("containers", 0, "securityContext")
BROKEN: dict[str, tuple[tuple[Any, ...], Any]] = {
    "no namespaces of the host": (("hostNetwork",), True),
    "not privileged": ((*SECURITY, "privileged"), True),
    "no ports of the host": (("containers", 0, "ports"), [{"containerPort": 8786, "hostPort": 8786}]),
    "harmless volumes": (("volumes", 0), {"name": "scratch", "hostPath": {"path": "/"}}),
    "no other user space": ((*SECURITY, "procMount"), "Unmasked"),
    "no settings of the kernel": (("securityContext", "sysctls"), [{"name": "kernel.msgmax", "value": "1"}]),
    "no escalation": ((*SECURITY, "allowPrivilegeEscalation"), None),
    "not root": ((*SECURITY, "runAsNonRoot"), False),
    "no number of root": ((*SECURITY, "runAsUser"), 0),
    "filtered calls": (("securityContext", "seccompProfile"), {"type": "Unconfined"}),
    "no capabilities": ((*SECURITY, "capabilities"), {"drop": ["ALL"], "add": ["SYS_ADMIN"]}),
}


def broken_rules(pod: Mapping) -> list[str]:
    return [name for name, holds in RULES.items() if not holds(pod)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("values", [{}, {"tls": "", "lake": "lake", "environment": "credentials"}])
def test_pods_are_restricted(kind: str, values: Mapping, tmp_path: Path) -> None:
    (made,) = (one for one in manifests(kind, tmp_path, **values) if one["kind"] != "NetworkPolicy")
    for name, pod in pods(made).items():
        assert broken_rules(pod) == [], name


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_can_be_broken(rule: str, tmp_path: Path) -> None:
    pod = copy.deepcopy(pods(manifests("job", tmp_path)[1])["worker"])
    (*place, last), value = BROKEN[rule]
    reduce(operator.getitem, place, pod)[last] = value
    assert broken_rules(pod) == [rule]


def admits(policy: Mapping, labels: Mapping) -> bool:
    """Whether a pod of the same namespace with these labels may connect."""
    return any(
        who["podSelector"]["matchLabels"].items() <= labels.items()
        for rule in policy["spec"]["ingress"]
        for who in rule["from"]
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_network_admits_members_and_clients_alone(kind: str, tmp_path: Path) -> None:
    policy, made = manifests(kind, tmp_path, name="mine")
    assert (policy["apiVersion"], policy["kind"]) == ("networking.k8s.io/v1", "NetworkPolicy")
    assert policy["spec"]["policyTypes"] == ["Ingress"]
    # the label that the operator gives to schedulers, workers and runners of jobs
    assert policy["spec"]["podSelector"] == {
        "matchLabels": {"dask.org/cluster-name": made["metadata"]["name"]}
    }
    for component in ("scheduler", "worker", "job-runner"):
        assert admits(policy, {"dask.org/cluster-name": "mine", "dask.org/component": component})
    assert admits(policy, {"app": "notebook", "distmom/client-of": "mine"})
    for stranger in (
        {},
        {"app": "notebook"},
        {"dask.org/cluster-name": "other"},
        {"distmom/client-of": "other"},
    ):
        assert not admits(policy, stranger)
