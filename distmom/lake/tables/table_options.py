"""Storage options by the names of the packages that read the logs of tables."""

from __future__ import annotations

from collections.abc import Mapping

from distmom.lake.files.stores import address_of, settled

_DELTA = {
    "s3": {
        "access_key": "AWS_ACCESS_KEY_ID",
        "secret_key": "AWS_SECRET_ACCESS_KEY",
        "session_token": "AWS_SESSION_TOKEN",
        "region": "AWS_REGION",
        "anonymous": "AWS_SKIP_SIGNATURE",
        "role_arn": "AWS_IAM_ROLE_ARN",
        "session_name": "AWS_IAM_ROLE_SESSION_NAME",
    },
    "gs": {"anonymous": "google_skip_signature"},
    "abfs": {
        "account_name": "azure_storage_account_name",
        "account_key": "azure_storage_account_key",
        "sas_token": "azure_storage_sas_key",
        "client_id": "azure_storage_client_id",
        "client_secret": "azure_storage_client_secret",
        "tenant_id": "azure_storage_tenant_id",
    },
}
_ENDPOINTS = {"s3": "AWS_ENDPOINT_URL", "gs": "google_base_url", "abfs": "azure_storage_endpoint"}
_ICEBERG = {
    "s3": {
        "access_key": "s3.access-key-id",
        "secret_key": "s3.secret-access-key",
        "session_token": "s3.session-token",
        "region": "s3.region",
        "role_arn": "s3.role-arn",
        "session_name": "s3.role-session-name",
        "anonymous": "s3.anonymous",
    },
    "gs": {"access_token": "gcs.oauth2.token"},
    "abfs": {
        "account_name": "adls.account-name",
        "account_key": "adls.account-key",
        "sas_token": "adls.sas-token",
        "client_id": "adls.client-id",
        "client_secret": "adls.client-secret",
        "tenant_id": "adls.tenant-id",
    },
}
_ICEBERG_ENDPOINTS = {"s3": "s3.endpoint", "gs": "gcs.service.host", "abfs": "adls.blob-storage-authority"}


def delta_options(name: str, given: Mapping[str, object] | None) -> dict[str, str]:
    """For ``deltalake``; empty for a local table."""
    kind, options = _settled(name, given)
    found = _renamed(options, _DELTA.get(kind, {}))
    if "endpoint" in options:
        found[_ENDPOINTS[kind]] = _url(options)
        if options.get("scheme") == "http":
            found["allow_http"] = "true"
    return found


def iceberg_options(name: str, given: Mapping[str, object] | None) -> dict[str, str]:
    """For ``pyiceberg``; empty for a local table."""
    kind, options = _settled(name, given)
    found = _renamed(options, _ICEBERG.get(kind, {}))
    if "endpoint" in options:
        found[_ICEBERG_ENDPOINTS[kind]] = options["endpoint"] if kind == "abfs" else _url(options)
    return found


def _settled(name: str, given: Mapping[str, object] | None) -> tuple[str, dict[str, str]]:
    address = address_of(name)
    return ("", {}) if address is None else (address.kind, settled(address, given))


def _renamed(options: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    return {names[name]: value for name, value in options.items() if name in names}


def _url(options: Mapping[str, str]) -> str:
    return f"{options.get('scheme', 'https')}://{options['endpoint']}"
