"""Addresses, options and errors of object stores, without any server."""

from __future__ import annotations

import pickle
import re
import time
from pathlib import Path

import pyarrow.fs as pafs
import pytest

from distmom.cluster.failures import is_transient
from distmom.errors import AccessError, ConfigError, DataError, ResourceError
from distmom.lake import open_lake
from distmom.lake.files.retries import Patience
from distmom.lake.files.store_errors import may_pass, store_error
from distmom.lake.files.stores import Address, address_of, connected, open_store
from distmom.lake.lake import Lake
from distmom.lake.messages import masked, plain_address, plain_words
from distmom.stopping import Stopped, stoppable


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("s3://bucket/a/b.parquet", Address("s3", "bucket/a/b.parquet")),
        ("S3A://bucket/a/", Address("s3", "bucket/a")),
        ("gcs://bucket", Address("gs", "bucket")),
        ("abfss://box@name.dfs.core.windows.net/a", Address("abfs", "box/a", "name")),
        ("az://box/a*/b?.parquet", Address("abfs", "box/a*/b?.parquet")),
        ("s3:/bucket/a", None),
        ("lake/s3.parquet", None),
        ("file:///a", None),
    ],
)
def test_addresses(name: str, address: Address | None) -> None:
    assert address_of(name) == address


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("s3://", "must name a bucket"),
        ("s3:///a", "must name a bucket"),
        ("s3://b*/a", "must name a bucket"),
        ("s3://b//a", "empty name"),
        ("s3://AKIA:hidden@bucket/a", "holds credentials"),
        ("abfs://box:hidden@name/a", "holds credentials"),
    ],
)
def test_wrong_addresses(name: str, told: str) -> None:
    with pytest.raises(ConfigError, match=told) as error:
        address_of(name)
    assert "hidden" not in str(error.value)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"regiom": "hidden"}, r"no option 'regiom' for s3://; did you mean 'region'"),
        ({"max_attempts": "hidden"}, "max_attempts must be a whole number"),
        ({"anonymous": "hidden"}, "anonymous must be true or false"),
        ({"connect_timeout": "-1"}, "connect_timeout must be a number of seconds"),
        ({"key": "hidden", "access_key": "hidden"}, "access_key is given twice"),
        ({"endpoint": "ftp://hidden"}, "scheme must be http or https"),
        ({"access_key": "hidden", "region": "us-east-1"}, "refused for s3"),
        ([("region", "x")], "must be a mapping"),
    ],
)
def test_wrong_options_are_named_without_their_values(
    options: object, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pafs, "resolve_s3_region", lambda bucket: pytest.fail("asked the network"))
    with pytest.raises(ConfigError, match=told) as error:
        open_store(Address("s3", "bucket"), options)  # type: ignore[arg-type]
    assert "hidden" not in str(error.value)


def test_a_filesystem_keeps_its_options_when_it_is_pickled() -> None:
    options = (("access_key", "a"), ("max_attempts", "2"), ("region", "us-east-1"), ("secret_key", "hidden"))
    store = connected("s3", options)
    assert pickle.loads(pickle.dumps(store)) is store
    assert "hidden" not in repr(store)
    assert connected("s3", (*options[:-2], ("region", "eu-west-1"), options[-1])) is not store
    account = open_store(Address("abfs", "box/a", "name"), {"account_key": "aGlkZGVu"})
    assert pickle.loads(pickle.dumps(account)) is account
    assert pickle.loads(pickle.dumps(connected("gs", (("anonymous", "true"),)))).type_name == "gcs"


def test_lakes_of_two_accounts_have_two_addresses() -> None:
    """Their containers and folders may have the same names: states must not take one for the other."""
    addresses = []
    for name in ("one", "two"):
        place = Address("abfs", "box/a/b", name)
        store = open_store(place, {"account_key": "aGlkZGVu"})
        lake = Lake(place.path, (), filesystem=store, prefix=place.prefix)
        assert address_of(lake.address) == place and "aGlkZGVu" not in lake.address
        addresses.append(pickle.loads(pickle.dumps(lake)).address)
    assert addresses == ["abfs://box@one/a/b", "abfs://box@two/a/b"]
    assert Lake("box/a", (), prefix="s3://").address == "s3://box/a"


def test_no_secret_is_shown_or_kept() -> None:
    error = OSError("GET https://x/y?sig=hidden&se=1 failed: token=hidden, secret_key=hidden")
    assert "hidden" not in masked(error) and "se=1" in masked(error)
    assert plain_address("abfs://box:hidden@name/a") == "abfs://name/a"
    assert plain_address("abfs://box@name.dfs.core.windows.net/a").startswith("abfs://box@name")
    words = ["mean", "s3://me:hidden@b/t?sig=hidden", "--storage-option=key=hidden", "--where", "a = 'x?b=1'"]
    told = plain_words([*words, "--storage-option", "token=hidden", "--scheduler=tls://u:hidden@h:1"])
    assert "hidden" not in " ".join(told) and told[4] == "a = 'x?b=1'" and told[-1] == "--scheduler=tls://h:1"


def test_options_without_a_store(tmp_path) -> None:
    with pytest.raises(ConfigError, match="not in an object store"):
        open_lake(tmp_path, storage_options={"region": "x"})
    with pytest.raises(ConfigError, match="not in an object store"):
        open_lake({"x": [1.0]}, storage_options={"region": "x"})
    with pytest.raises(ConfigError, match="abfs:// needs account_name"):
        open_lake("abfs://box/a")
    for names, told in (
        ([str(tmp_path), "s3://b/a"], "is local but"),
        (["s3://b/a", "gs://b/a"], "two stores"),
        (["s3://b/a", "s3://c/a"], "two buckets"),
    ):
        with pytest.raises(ConfigError, match=told):
            open_lake(names)


AWS = "When reading information for key 'x' in bucket 'b': AWS Error {} during GetObject operation: {}"
UNKNOWN = "UNKNOWN (HTTP status {})"


@pytest.mark.parametrize(
    ("text", "passes", "kind", "told"),
    [
        (AWS.format("SLOW_DOWN", "Reduce"), True, ResourceError, "asks to slow down"),
        (AWS.format(UNKNOWN.format(503), "No response body."), True, ResourceError, "asks to slow down"),
        (AWS.format(UNKNOWN.format(429), "TooManyRequests"), True, ResourceError, "use fewer workers or thr"),
        (AWS.format("NETWORK_CONNECTION", "curlCode: 7, Failed"), True, ResourceError, "cannot be reached"),
        (AWS.format("INTERNAL_FAILURE", "?sig=hidden&a"), True, ResourceError, "the store failed"),
        (AWS.format(UNKNOWN.format(-1), "XML_ERROR_PARSING_ELEMENT"), True, ResourceError, "store failed"),
        ("google::cloud::Status(UNAVAILABLE: Retry policy exhausted", True, ResourceError, "cannot be reach"),
        ("Azure: 503 The server is busy.", True, ResourceError, "asks to slow down"),
        (AWS.format("ACCESS_DENIED", "no"), False, AccessError, "access denied for s3://b/x"),
        (
            AWS.format(UNKNOWN.format(400), "ExceptionName: ExpiredToken"),
            False,
            AccessError,
            "token has expired",
        ),
        (
            AWS.format(UNKNOWN.format(400), "ExceptionName: InvalidArgument"),
            False,
            ResourceError,
            r"refuses the request \(.*InvalidArgument",
        ),
        (AWS.format("NO_SUCH_BUCKET", "no"), False, DataError, "no such bucket 'b'"),
        (AWS.format("NO_SUCH_KEY", "no"), False, FileNotFoundError, "s3://b/x"),
        (AWS.format(UNKNOWN.format(404), "No response body."), False, FileNotFoundError, "s3://b/x"),
        (
            AWS.format("NETWORK_CONNECTION", "curlCode: 60, certificate has expired"),
            False,
            ResourceError,
            "certificate is not trusted",
        ),
    ],
)
def test_answers_of_stores(text: str, passes: bool, kind: type[Exception], told: str) -> None:
    error = OSError(text)
    assert may_pass(error) == passes
    found = store_error(error, "s3://b/x")
    assert type(found) is kind and re.search(told, str(found)) and "hidden" not in str(found)
    assert "\n" not in str(found) and not (isinstance(found, ResourceError) and is_transient(found))
    assert type(pickle.loads(pickle.dumps(found))) is kind


def test_the_last_failure_tells_how_long_it_was_tried() -> None:
    asked = []

    def request() -> None:
        asked.append(time.monotonic())
        raise OSError(AWS.format("SLOW_DOWN", "Reduce"))

    with pytest.raises(ResourceError, match=r"slow down, tried 3 times in 0 seconds .*max_attempts") as told:
        Patience(attempts=3).ask(request, "s3://b/x")
    assert len(asked) == 3 and isinstance(told.value.__cause__, OSError)
    asked.clear()
    with pytest.raises(ResourceError, match=r"tried \d+ times in 0 seconds"):
        Patience(seconds=0.4).ask(request, "s3://b/x")
    assert asked[-1] - asked[0] <= 0.4


def test_an_answer_is_taken_as_soon_as_it_comes_and_what_cannot_pass_is_not_asked_again() -> None:
    answers = [
        OSError(AWS.format("SLOW_DOWN", "")),
        ConnectionError("reset"),
        OSError("AWS Error ACCESS_DENIED"),
    ]

    def request() -> int:
        if answers:
            raise answers.pop(0)
        return 1

    with pytest.raises(AccessError):
        Patience().ask(request, "s3://b/x")
    assert Patience().ask(request, "s3://b/x") == 1
    with pytest.raises(FileNotFoundError):
        Patience().ask(Path("/none/such").stat, "s3://b/x")


def test_a_run_that_is_given_up_waits_for_no_store() -> None:
    def request() -> None:
        raise OSError(AWS.format("SLOW_DOWN", ""))

    asked = iter([False] * 5)
    with pytest.raises(Stopped), stoppable(lambda: next(asked, True)):
        Patience(seconds=1e6).ask(request, "s3://b/x")
