"""What a state file holds, as a container and back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, TypeVar

from distmom.errors import DataError, DistmomError
from distmom.lake.source import FileRef
from distmom.state.container import Container
from distmom.state.files import files_from_arrays, files_to_arrays
from distmom.state.fingerprint import Fingerprint
from distmom.version import VERSION

T = TypeVar("T")

OWN = "own/"
"""Before the names of a job's own arrays."""


@dataclass(frozen=True)
class Saved:
    """What a state holds.

    Attributes
    ----------
    kind : str
        What job it is of, such as ``"mean"``.
    fingerprint : Fingerprint
    files : tuple of FileRef
        All files that it knows.
    facts : dict
        The job's own: whatever JSON can carry, by name.
    arrays : mapping of str to ndarray or tuple of bytes
        The job's own.
    """

    kind: str
    fingerprint: Fingerprint
    files: tuple[FileRef, ...] = ()
    facts: dict[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, Any] = field(default_factory=dict)

    def container(self) -> Container:
        """As it is written."""
        facts = {"fingerprint": asdict(self.fingerprint), "distmom": VERSION, "own": self.facts}
        own = {f"{OWN}{name}": array for name, array in self.arrays.items()}
        return Container(self.kind, facts, files_to_arrays(self.files) | own)

    @classmethod
    def of(cls, container: Container, kind: str, name: str) -> Saved:
        """What a container holds.

        Raises
        ------
        DataError
            If it is of another kind, or does not hold what it should.
        """
        if container.kind != kind:
            raise DataError(f"{name} is of a {container.kind}, not of a {kind}; name another file")

        def saved() -> Saved:
            arrays = container.arrays
            own = {n.removeprefix(OWN): a for n, a in arrays.items() if n.startswith(OWN)}
            print_ = Fingerprint(**container.facts["fingerprint"])
            print_.seed  # noqa: B018 (is there)
            return cls(kind, print_, files_from_arrays(arrays), dict(container.facts["own"]), own)

        return understood(name, saved)


def understood(name: str, make: Callable[[], T]) -> T:
    """What `make` makes of a state; a DataError that names the state if it is not what it should be."""
    try:
        return make()
    except (DistmomError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        reason = str(error).partition("\n")[0]
        raise DataError(
            f"{name} does not hold what this version of distmom expects ({type(error).__name__}: {reason}); "
            "delete it to start afresh"
        ) from error
