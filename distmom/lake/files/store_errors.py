"""What object stores answer instead of data, as one line each.

PyArrow gives all of it as ``OSError`` without a number, as it does damaged data; only the texts differ.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable

from distmom.errors import AccessError, DataError, ResourceError
from distmom.lake.messages import masked

_EXPIRED = re.compile(r"ExpiredToken|TokenRefreshRequired|InvalidToken|\bexpired\b", re.IGNORECASE)
_DENIED = re.compile(
    r"ACCESS_DENIED|AccessDenied|HTTP status 40[13]|Forbidden|INVALID_ACCESS_KEY|InvalidAccessKey|"
    r"SIGNATURE_DOES_NOT_MATCH|SignatureDoesNotMatch|UNRECOGNIZED_CLIENT|INVALID_CLIENT_TOKEN|MISSING_AUTH|"
    r"Unauthorized|UNAUTHENTICATED|PERMISSION_DENIED|Authenti?cation|Authorization|INVALID_SIGNATURE"
)
_BUSY = re.compile(
    r"SLOW_DOWN|SlowDown|slow down|THROTTL|Throttl|HTTP status (503|429)|ServerBusy|rateLimitExceeded|"
    r"RequestLimitExceeded|Too ?Many ?Requests|RESOURCE_EXHAUSTED|\b(?-i:(503|429) [A-Z])",
    re.IGNORECASE,
)
_AWAY = re.compile(
    r"NETWORK_CONNECTION|curlCode|Could ?n[o']t (connect|resolve)|REQUEST_TIMEOUT|RequestTimeout|timed out|"
    r"UNAVAILABLE|DEADLINE_EXCEEDED|HTTP status 408"
)
_STRANGER = re.compile(r"curlCode: (51|58|59|60|77)\b")  # a certificate that is not to be trusted
_FAILED = re.compile(
    r"HTTP status (5\d\d|-1)|INTERNAL_FAILURE|InternalError|SERVICE_UNAVAILABLE|XML_ERROR|ABORTED|INTERNAL:|"
    r"\b50[024] [A-Z]"
)
_NO_BUCKET = re.compile(r"NO_SUCH_BUCKET|NoSuchBucket|bucket does not exist|ContainerNotFound")
_GONE = re.compile(r"NO_SUCH_KEY|NoSuchKey|HTTP status 404|RESOURCE_NOT_FOUND|NOT_FOUND|BlobNotFound")
_WITHOUT_REASON = re.compile(r"HTTP status 400\) during Head|No response body")


def may_pass(error: OSError) -> bool:
    """Whether the same request may be answered later."""
    text = str(error)
    if isinstance(error, ConnectionError | TimeoutError):
        return True
    if _EXPIRED.search(text) or _STRANGER.search(text):
        return False
    return any(one.search(text) for one in (_BUSY, _AWAY, _FAILED))


def store_error(
    error: OSError,
    what: str,
    reason: Callable[[], str | None] = lambda: None,
    n_attempts: int = 1,
    seconds: float = 0.0,
) -> Exception:
    """The one-line error for what a store answered; raise it ``from error``.

    Parameters
    ----------
    what : str
        How messages call what was asked for: an address.
    reason : callable
        Asks why a request was refused whose refusal had no text.
    n_attempts, seconds : int, float
        How often, and how long, it was tried.

    Returns
    -------
    Exception
        A FileNotFoundError if the object is gone, else a DistmomError.
    """
    text = masked(error)
    if may_pass(error):
        tried = f" {n_attempts} times in {seconds:.0f} seconds" if n_attempts > 1 else ""
        return _gave_up(what, text, tried)
    if _WITHOUT_REASON.search(text):
        text = reason() or text
    if _STRANGER.search(text):
        return ResourceError(
            f"{what}: the store's certificate is not trusted ({text}); check the endpoint, or name the "
            "authority by the storage option tls_ca_file_path"
        )
    if _EXPIRED.search(text):
        return AccessError(
            f"access denied for {what}: the token has expired; renew the credentials and run again ({text})"
        )
    if _NO_BUCKET.search(text):
        bucket = what.partition("://")[2].partition("/")[0]
        return DataError(f"{what}: no such bucket {bucket!r}; check its name")
    if _GONE.search(text):
        return FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), what)
    if _DENIED.search(text):
        return AccessError(
            f"access denied for {what}; check the credentials (storage_options, environment or profile), "
            f"here and on the workers ({text})"
        )
    return ResourceError(
        f"{what}: the store refuses the request ({text}); check the address, region and endpoint"
    )


def _gave_up(what: str, text: str, tried: str) -> ResourceError:
    """After the last attempt."""
    longer = "raise the storage option retry_time_limit or max_attempts"
    if _BUSY.search(text):
        return ResourceError(
            f"{what}: the store asks to slow down{tried and ', tried'}{tried} ({text}); "
            f"use fewer workers or threads, or {longer}, and run again"
        )
    if _FAILED.search(text):
        return ResourceError(f"{what}: the store failed{tried} ({text}); run again later, or {longer}")
    return ResourceError(
        f"{what}: the store cannot be reached{tried and ', tried'}{tried} ({text}); "
        f"check the endpoint and the network, then run again, or {longer}"
    )
