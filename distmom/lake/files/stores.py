"""Object stores: from an address and options to one of PyArrow's filesystems.

A filesystem made here can go to workers: it pickles as its kind and options, and there is one for each in a
process, so that tasks share its connections.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cached_property, lru_cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pyarrow.fs as pafs

from distmom.errors import ConfigError, ResourceError
from distmom.lake.files.patient import Patient
from distmom.lake.files.retries import SECONDS, Patience
from distmom.lake.files.stored_object import Tags
from distmom.lake.messages import first_line, suggestion

Options = tuple[tuple[str, str], ...]

_KINDS = {
    **dict.fromkeys(("s3", "s3a", "s3n"), "s3"),
    **dict.fromkeys(("gs", "gcs"), "gs"),
    **dict.fromkeys(("abfs", "abfss", "az"), "abfs"),
}
_CLASSES = {"s3": "S3FileSystem", "gs": "GcsFileSystem", "abfs": "AzureFileSystem"}

CONNECT_SECONDS, SILENT_SECONDS = 5.0, 20.0
"""After so long without a connection, or without a byte, an attempt has failed."""
PAGE_ATTEMPTS = 4
"""Of each page of a listing, which is had as a whole or begun again: a request lists a thousand objects."""

_FLAG, _NUMBER, _COUNT, _TEXT = "true or false", "a number of seconds", "a whole number from 1 on", "a text"

_PATIENCE = {"max_attempts": _COUNT, "retry_time_limit": _NUMBER}

_OPTIONS: dict[str, dict[str, str]] = {
    "s3": {
        **dict.fromkeys(("access_key", "secret_key", "session_token", "region", "endpoint", "scheme"), _TEXT),
        **dict.fromkeys(("role_arn", "session_name", "external_id", "tls_ca_file_path"), _TEXT),
        **dict.fromkeys(("anonymous", "force_virtual_addressing"), _FLAG),
        **dict.fromkeys(("connect_timeout", "request_timeout"), _NUMBER),
        **_PATIENCE,
    },
    "gs": {
        **dict.fromkeys(("access_token", "target_service_account", "endpoint", "scheme"), _TEXT),
        "anonymous": _FLAG,
        **_PATIENCE,
    },
    "abfs": {
        **dict.fromkeys(
            (
                *("account_name", "account_key", "sas_token", "client_id", "client_secret", "tenant_id"),
                *("endpoint", "scheme"),
            ),
            _TEXT,
        ),
        **_PATIENCE,
    },
}
"""The options of each kind of store, and what their values are."""

_OTHER_NAMES = {
    "key": "access_key",
    "secret": "secret_key",
    "anon": "anonymous",
    "aws_access_key_id": "access_key",
    "aws_secret_access_key": "secret_key",
    "aws_session_token": "session_token",
    "aws_region": "region",
    "region_name": "region",
    "endpoint_override": "endpoint",
    "endpoint_url": "endpoint",
    "aws_endpoint_url": "endpoint",
}
"""What other libraries call them."""

_ENVIRONMENT: dict[str, dict[str, tuple[str, ...]]] = {
    "s3": {"endpoint": ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")},
    "gs": {"endpoint": ("STORAGE_EMULATOR_HOST",)},
    "abfs": {"account_name": ("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_ACCOUNT")},
}


class Address(NamedTuple):
    """Where data lies in an object store."""

    kind: str
    path: str  # bucket/key
    account: str | None = None

    @property
    def prefix(self) -> str:
        """What stands before the path."""
        return f"{self.kind}://"


def address_of(name: str) -> Address | None:
    """The place in an object store that a URL names; None for any other name.

    ConfigError if it holds credentials, names no bucket, or has a wildcard in its bucket.
    """
    scheme, separator, rest = name.partition("://")
    kind = _KINDS.get(scheme.lower()) if separator else None
    if kind is None:
        return None
    bucket, _, key = rest.rstrip("/").partition("/")
    account = None
    if "@" in bucket:
        bucket, _, host = bucket.partition("@")
        account = host.partition(".")[0]
        if kind != "abfs" or ":" in bucket:
            raise ConfigError(
                f"data: {scheme}://***@{host} holds credentials; give them as storage options or in the "
                "environment"
            )
    if not bucket or any(character in bucket for character in "*?[:"):
        raise ConfigError(
            f"data: {name} must name a bucket, as in {scheme}://bucket/folder, without wildcards"
        )
    if "" in key.split("/")[:-1] or "\\" in bucket:
        raise ConfigError(f"data: {name} has an empty name between two slashes; write it with single ones")
    return Address(kind, f"{bucket}/{key}" if key else bucket, account)


def open_store(address: Address, given: Mapping[str, object] | None) -> pafs.FileSystem:
    """The filesystem of an address.

    ConfigError if an option is unknown or its value wrong, or this PyArrow was built without the store;
    ResourceError if nothing listens at the endpoint.
    """
    options = settled(address, given)
    if "endpoint" in options:
        _check_reachable(options["endpoint"], options.get("scheme", "https"))
    elif (
        address.kind == "s3"
        and "region" not in options
        and not ({"AWS_REGION", "AWS_DEFAULT_REGION"} & os.environ.keys())
    ):
        options["region"] = _region_of(address)
    return connected(address.kind, tuple(sorted(options.items())))


def settled(address: Address, given: Mapping[str, object] | None) -> dict[str, str]:
    """The options given, checked, and those of the environment.

    ConfigError if an option is unknown or its value wrong.
    """
    options = _checked(address.kind, given or {})
    if address.account is not None and options.setdefault("account_name", address.account) != address.account:
        raise ConfigError("storage_options: account_name is not that of the address; name it once")
    for name, variables in _ENVIRONMENT[address.kind].items():
        found = next((os.environ[v] for v in variables if os.environ.get(v)), None)
        if found is not None:
            options.setdefault(name, found)
    if address.kind == "abfs" and "account_name" not in options:
        raise ConfigError(
            "storage_options: abfs:// needs account_name (or abfs://container@account.dfs.core.windows.net/…)"
        )
    _split_endpoint(options)
    return options


@lru_cache(maxsize=16)
def connected(kind: str, options: Options) -> pafs.FileSystem:
    """The filesystem of checked options: one for all who ask in this process, also after pickling."""
    try:
        base: Any = getattr(pafs, _CLASSES[kind])
    except (AttributeError, ImportError) as error:
        raise ConfigError(
            f"data: this build of pyarrow has no {kind}:// ({_CLASSES[kind]}); install one that has it"
        ) from error

    given = dict(options)

    class Store(Patient, base):  # type: ignore[misc]
        """One whose options stay when it is pickled."""

        account = given.get("account_name")
        prefix = f"{kind}://"
        patience = patience_of(given)
        tags = Tags()

        def __reduce__(self) -> tuple[Callable[..., pafs.FileSystem], tuple[str, Options]]:
            return connected, (kind, options)

        def _listed(self, selector: pafs.FileSelector) -> list[pafs.FileInfo]:
            return self._lister.get_file_info(selector) if kind == "s3" else super()._listed(selector)

        @cached_property
        def _lister(self) -> pafs.FileSystem:
            attempts = min(self.patience.attempts or PAGE_ATTEMPTS, PAGE_ATTEMPTS)
            return base(**_s3(given, attempts))

    try:
        store: pafs.FileSystem = Store(**_ARGUMENTS[kind](given))
    except (ValueError, TypeError, OSError) as error:
        text = first_line(error)
        for _, value in options:
            text = text.replace(value, "***")
        raise ConfigError(f"storage_options: refused for {kind}:// ({text})") from None
    return store


def is_local(filesystem: pafs.FileSystem) -> bool:
    """Whether files are on this machine's disks."""
    return isinstance(filesystem, pafs.LocalFileSystem)


def full_address(filesystem: pafs.FileSystem, prefix: str, path: str) -> str:
    """The address of a path, with the account where containers of several have the same names."""
    account = getattr(filesystem, "account", None)
    if not prefix or account is None:
        return f"{prefix}{path}"
    container, slash, key = path.partition("/")
    return f"{prefix}{container}@{account}{slash}{key}"


def _checked(kind: str, given: Mapping[str, object]) -> dict[str, str]:
    """Options by our names, as texts; values, which may be secret, are not shown."""
    if not isinstance(given, Mapping):
        raise ConfigError(
            f"storage_options: must be a mapping of names to values, not a {type(given).__name__}"
        )
    known = _OPTIONS[kind]
    options: dict[str, str] = {}
    for name, value in given.items():
        own = "session_token" if (kind, name) == ("s3", "token") else _OTHER_NAMES.get(name, name)
        own = "access_token" if (kind, name) == ("gs", "token") else own
        if own not in known:
            raise ConfigError(
                f"storage_options: no option {name!r} for {kind}://{suggestion(str(name), known)}"
            )
        if own in options:
            raise ConfigError(f"storage_options: {own} is given twice, once as {name!r}")
        text = str(value)
        if not _fits(text, known[own]):
            raise ConfigError(f"storage_options: {name} must be {known[own]}")
        options[own] = text.lower() if known[own] == _FLAG else text
    return options


def _fits(text: str, what: str) -> bool:
    if what == _FLAG:
        return text.lower() in ("true", "false")
    if what == _COUNT:
        return text.isascii() and text.isdecimal() and int(text) > 0
    if what == _NUMBER:
        try:
            return 0 < float(text) < 1e6
        except ValueError:
            return False
    return bool(text)


def _split_endpoint(options: dict[str, str]) -> None:
    """Take the scheme out of an endpoint that has one."""
    endpoint = options.get("endpoint", "")
    scheme, separator, rest = endpoint.partition("://")
    if separator:
        options["endpoint"] = rest.rstrip("/")
        options.setdefault("scheme", scheme.lower())
    if options.get("scheme", "https") not in ("http", "https"):
        raise ConfigError("storage_options: scheme must be http or https")


def _check_reachable(endpoint: str, scheme: str) -> None:
    """One connection, so that a wrong endpoint is told at once and not after all attempts."""
    try:
        parts = urlsplit(f"//{endpoint}")
        place = parts.hostname or "", parts.port or (443 if scheme == "https" else 80)
    except ValueError as error:
        raise ConfigError("storage_options: endpoint must be host:port or a URL") from error
    try:
        socket.create_connection(place, CONNECT_SECONDS).close()
    except OSError as error:
        raise ResourceError(
            f"endpoint {scheme}://{place[0]}:{place[1]} cannot be reached ({error.strerror or error}); "
            "check its address and the network"
        ) from error


def _region_of(address: Address) -> str:
    """The region of a bucket, asked of AWS."""
    bucket = address.path.partition("/")[0]
    try:
        return str(pafs.resolve_s3_region(bucket))
    except OSError as error:
        raise ResourceError(
            f"s3://{bucket}: its region cannot be found ({first_line(error)}); check the bucket's name and "
            "the network, or give the storage option region (or endpoint, for another store than AWS)"
        ) from error


def _shared(kind: str, options: dict[str, str]) -> dict[str, Any]:
    """Arguments of the first two kinds: texts by PyArrow's names, and whether to ask without credentials."""
    text = {name: options[name] for name, what in _OPTIONS[kind].items() if what == _TEXT and name in options}
    if "endpoint" in text:
        text["endpoint_override"] = text.pop("endpoint")
    return {**text, "anonymous": options.get("anonymous") == "true"}


def patience_of(options: Mapping[str, str]) -> Patience:
    """How long requests are tried again."""
    attempts = options.get("max_attempts")
    seconds = float(options.get("retry_time_limit", SECONDS))
    return Patience(seconds, None if attempts is None else int(attempts))


def _s3(options: dict[str, str], attempts: int = 1) -> dict[str, Any]:
    return {
        **({"region": "us-east-1"} if "endpoint" in options else {}),
        **_shared("s3", options),
        "force_virtual_addressing": options.get("force_virtual_addressing") == "true",
        "connect_timeout": float(options.get("connect_timeout", CONNECT_SECONDS)),
        "request_timeout": float(options.get("request_timeout", SILENT_SECONDS)),
        "retry_strategy": pafs.AwsStandardS3RetryStrategy(max_attempts=attempts),
    }


def _gs(options: dict[str, str]) -> dict[str, Any]:
    arguments = _shared("gs", options)
    if "access_token" in arguments:  # when it ends in truth the store tells
        arguments["credential_token_expiration"] = datetime.now(UTC) + timedelta(days=1)
    return {**arguments, "retry_time_limit": timedelta(seconds=patience_of(options).seconds)}


def _abfs(options: dict[str, str]) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        n: v for n, v in options.items() if n not in ("endpoint", "scheme", *_PATIENCE)
    }
    for service in ("blob", "dfs"):
        if "endpoint" in options:
            arguments[f"{service}_storage_authority"] = options["endpoint"]
        if "scheme" in options:
            arguments[f"{service}_storage_scheme"] = options["scheme"]
    return arguments


_ARGUMENTS: dict[str, Callable[[dict[str, str]], dict[str, Any]]] = {"s3": _s3, "gs": _gs, "abfs": _abfs}
