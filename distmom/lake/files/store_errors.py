"""What object stores answer instead of data, as one line each.

PyArrow gives all of it as ``OSError`` without a number, as it does damaged data; only the texts differ.
"""

from __future__ import annotations

import re

import pyarrow.fs as pafs

from distmom.errors import AccessError, BusyStore, DataError, DistmomError, ResourceError
from distmom.lake.messages import masked

_FROM_STORE = re.compile(
    r"AWS Error|curlCode|HTTP status|google::cloud|GCS|Azure|SlowDown|SLOW_DOWN|Permanent error|Retry policy"
)
_EXPIRED = re.compile(r"ExpiredToken|TokenRefreshRequired|InvalidToken|\bexpired\b", re.IGNORECASE)
_DENIED = re.compile(
    r"ACCESS_DENIED|AccessDenied|HTTP status 40[13]|Forbidden|INVALID_ACCESS_KEY|InvalidAccessKey|"
    r"SIGNATURE_DOES_NOT_MATCH|SignatureDoesNotMatch|UNRECOGNIZED_CLIENT|INVALID_CLIENT_TOKEN|MISSING_AUTH|"
    r"Unauthorized|UNAUTHENTICATED|PERMISSION_DENIED|Authenti?cation|Authorization|INVALID_SIGNATURE"
)
_BUSY = re.compile(
    r"SLOW_DOWN|SlowDown|slow down|THROTTL|Throttl|HTTP status (503|429)|ServerBusy|rateLimitExceeded|"
    r"RequestLimitExceeded|Too Many Requests",
    re.IGNORECASE,
)
_AWAY = re.compile(r"NETWORK_CONNECTION|curlCode|Could ?n[o']t (connect|resolve)|REQUEST_TIMEOUT|timed out")
_NO_BUCKET = re.compile(r"NO_SUCH_BUCKET|NoSuchBucket|bucket does not exist|ContainerNotFound")
_WITHOUT_REASON = re.compile(r"HTTP status 400\) during Head|No response body")


def from_store(error: BaseException) -> bool:
    """Whether a store failed, rather than the data."""
    return isinstance(error, BusyStore) or (
        isinstance(error, OSError) and _FROM_STORE.search(str(error)) is not None
    )


def store_error(error: OSError, filesystem: pafs.FileSystem, path: str, what: str) -> Exception:
    """The one-line error for what a store answered; raise it ``from error``.

    Parameters
    ----------
    path : str
        What was asked for, bucket first.
    what : str
        How messages call it.

    Returns
    -------
    Exception
        `BusyStore` or another ``OSError`` where a further attempt may succeed.
    """
    text = masked(error)
    if _WITHOUT_REASON.search(text) and not _BUSY.search(text):
        text = _reason(filesystem, path) or text
    if _EXPIRED.search(text):
        return AccessError(
            f"access denied for {what}: the token has expired; renew the credentials and run again ({text})"
        )
    if _BUSY.search(text):
        return BusyStore(f"{what}: the store asks to slow down ({text})")
    if _NO_BUCKET.search(text):
        return DataError(f"{what}: no such bucket {path.partition('/')[0]!r}; check its name")
    if _DENIED.search(text) or "HTTP status 400" in text:
        return AccessError(
            f"access denied for {what}; check the credentials (storage_options, environment or profile), "
            f"here and on the workers ({text})"
        )
    if _AWAY.search(text):
        return ConnectionError(f"{what}: the store cannot be reached ({text})")
    return OSError(f"{what}: the store failed ({text})")


def final(error: Exception) -> DistmomError:
    """What becomes of `store_error` where there is no further attempt."""
    if isinstance(error, DistmomError):
        return error
    if isinstance(error, BusyStore):
        return ResourceError(f"{error}; {BusyStore.remedy}")
    return ResourceError(f"{error}; check the endpoint and the network, then run again")


def _reason(filesystem: pafs.FileSystem, path: str) -> str | None:
    """What the store says to a request whose refusal has a text: those of a file's head have none."""
    folder = path.rpartition("/")[0] or path
    try:
        filesystem.get_file_info(pafs.FileSelector(folder))
    except OSError as error:
        return masked(error)
    return None
