"""Storage options by the names of the packages that read the logs of tables."""

from __future__ import annotations

import math
from collections.abc import Mapping

from distmom.lake.files.stores import address_of, patience_of, settled

_NAMES: dict[str, dict[str, tuple[str, str]]] = {
    "s3": {
        "access_key": ("AWS_ACCESS_KEY_ID", "s3.access-key-id"),
        "secret_key": ("AWS_SECRET_ACCESS_KEY", "s3.secret-access-key"),
        "session_token": ("AWS_SESSION_TOKEN", "s3.session-token"),
        "region": ("AWS_REGION", "s3.region"),
        "anonymous": ("AWS_SKIP_SIGNATURE", "s3.anonymous"),
        "role_arn": ("AWS_IAM_ROLE_ARN", "s3.role-arn"),
        "session_name": ("AWS_IAM_ROLE_SESSION_NAME", "s3.role-session-name"),
        "connect_timeout": ("", "s3.connect-timeout"),
        "request_timeout": ("", "s3.request-timeout"),
    },
    "gs": {"anonymous": ("google_skip_signature", ""), "access_token": ("", "gcs.oauth2.token")},
    "abfs": {
        "account_name": ("azure_storage_account_name", "adls.account-name"),
        "account_key": ("azure_storage_account_key", "adls.account-key"),
        "sas_token": ("azure_storage_sas_key", "adls.sas-token"),
        "client_id": ("azure_storage_client_id", "adls.client-id"),
        "client_secret": ("azure_storage_client_secret", "adls.client-secret"),
        "tenant_id": ("azure_storage_tenant_id", "adls.tenant-id"),
    },
}
"""Names in ``deltalake`` and in ``pyiceberg``; empty where it has none."""
_ENDPOINTS = {
    "s3": ("AWS_ENDPOINT_URL", "s3.endpoint"),
    "gs": ("google_base_url", "gcs.service.host"),
    "abfs": ("azure_storage_endpoint", "adls.blob-storage-authority"),
}


MANY = 1_000
"""Attempts where only the time counts."""


def delta_options(name: str, given: Mapping[str, object] | None) -> dict[str, str]:
    """For ``deltalake``; empty for a local table. Requests for logs are made again as those for files are."""
    kind, options, found = _renamed(name, given, 0)
    if kind:
        patience = patience_of(options)
        found["max_retries"] = str((patience.attempts or MANY) - 1)
        found["retry_timeout"] = f"{math.ceil(patience.seconds)}s"
        for mine, theirs in (("request_timeout", "timeout"), ("connect_timeout", "connect_timeout")):
            if mine in options:
                found[theirs] = f"{math.ceil(float(options[mine]))}s"
    if "endpoint" in options:
        found[_ENDPOINTS[kind][0]] = _url(options)
        if options.get("scheme") == "http":
            found["allow_http"] = "true"
    return found


def iceberg_options(name: str, given: Mapping[str, object] | None) -> dict[str, str]:
    """For ``pyiceberg``; empty for a local table."""
    kind, options, found = _renamed(name, given, 1)
    if "endpoint" in options:
        found[_ENDPOINTS[kind][1]] = options["endpoint"] if kind == "abfs" else _url(options)
    return found


def _renamed(
    name: str, given: Mapping[str, object] | None, package: int
) -> tuple[str, dict[str, str], dict[str, str]]:
    """Kind of store, our options, and those that a package has by its names."""
    address = address_of(name)
    if address is None:
        return "", {}, {}
    options, names = settled(address, given), _NAMES[address.kind]
    known = {names[mine][package]: value for mine, value in options.items() if mine in names}
    return address.kind, options, {theirs: value for theirs, value in known.items() if theirs}


def _url(options: Mapping[str, str]) -> str:
    return f"{options.get('scheme', 'https')}://{options['endpoint']}"
