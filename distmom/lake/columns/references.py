"""The type that a column has in a lake: that of the first file where it is not null throughout.

Files are compared with it when they are read, so that two types that do not mix are an error in whatever
order the files come, and no footers have to be gathered before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal

import pyarrow as pa

from distmom.checks import did_you_mean
from distmom.errors import ConfigError, DataError
from distmom.lake.columns.schema import (
    SEARCHED_FILES,
    Reference,
    Role,
    check_type,
    fits,
    kind_of,
    reference_of,
    roles_of,
)
from distmom.lake.columns.vectors import with_vectors
from distmom.lake.messages import suggestion
from distmom.lake.source import FileRef, ReadOptions
from distmom.remedies import WHOLE_FILES

Schemas = Callable[[], Iterator[tuple[FileRef, pa.Schema]]]


def settle(
    options: ReadOptions, partition_names: Sequence[str], schemas: Schemas, root: str
) -> tuple[ReadOptions, dict[str, Reference]]:
    """Check the names, roles and types of the columns asked for: the options with their list columns, types.

    ConfigError if no file has a column of that name, or the condition does not fit the columns' types;
    DataError if a column's type cannot be read in its role, or some files lack it.
    """
    names = tuple(dict.fromkeys(name for name, _ in roles_of(options)))
    bare = () if options.where is None else options.where.bare()
    references = find_references(
        names, partition_names, schemas, options.missing, root, bare=bare, units=options.units
    )
    options = with_vectors(options, references)
    for name, role in roles_of(options):
        check_role(name, role, references.get(name), schemas)
    if options.where is not None:
        options.where.check({name: reference.kind for name, reference in references.items()})
    return options, references


def find_references(
    names: Sequence[str],
    partition_names: Sequence[str],
    schemas: Schemas,
    missing: Literal["error", "null"],
    root: str,
    *,
    bare: Sequence[str] = (),
    units: Sequence[str] = (),
) -> dict[str, Reference]:
    """First file and type of each column where it is not null throughout; none for all-null columns.

    ConfigError if no file has a column of that name; DataError if some files lack it and ``missing`` is
    ``"error"``, or a file has it twice.

    Parameters
    ----------
    names : sequence of str
        Columns asked for.
    partition_names : sequence of str
        Those that come from the folders' names: their type is the folders'.
    schemas : callable
        Starts the files' schemas over, in the order of the listing; read until every column is settled,
        as a rule by the first.
    bare : sequence of str
        Names that a condition has without quotes, which may be meant as texts.
    units : sequence of str
        Columns whose values make units, in whose place whole files may be meant.
    """
    found: dict[str, Reference] = {}
    seen_in: dict[str, str] = {}
    lacking: dict[str, str] = {}
    first: pa.Schema | None = None
    for number, (file, schema) in enumerate(schemas()):
        first = schema if first is None else first
        for name in [name for name in names if name not in found]:
            positions = schema.get_all_field_indices(name)
            if len(positions) > 1:
                raise DataError(f"file {file.path} has {len(positions)} columns called {name!r}; rename them")
            (seen_in if positions else lacking).setdefault(name, file.path)
            type_ = schema.field(positions[0]).type if positions else pa.null()
            if kind_of(type_) != "null":
                place = "the folders' names" if name in partition_names else file.path
                found[name] = reference_of(name, place, type_)
        if all(name in found for name in names):
            break
        unknown = [name for name in names if name not in seen_in]
        if missing == "error" and unknown and number + 1 >= SEARCHED_FILES:
            break
        if missing == "error" and lacking and not unknown:
            break
    for name in names:
        if name not in seen_in:
            error = _unknown_column(name, first, root)
            if name in units and did_you_mean(name.lower(), ("file",)):
                error = ConfigError(f"no column {name!r} in {root}; did you mean {WHOLE_FILES}?")
            if name in bare:
                error.args = (f"{error}; if a text is meant, write it in single quotes: {name!r}",)
            raise error
        if name in lacking and missing == "error":
            raise DataError(
                f"column {name!r} is in {seen_in[name]} but not in {lacking[name]}; "
                "missing='null' counts its rows there as null"
            )
    return found


def check_role(name: str, role: Role, reference: Reference | None, schemas: Schemas) -> None:
    """Refuse a column whose type cannot be read in its role.

    If another file has it with a type that can, the message names both, so that the outcome is the same
    whichever comes first.
    """
    if reference is None or fits(role, reference.kind):
        return
    alone: DataError | None = None
    for number, (file, schema) in enumerate(schemas()):
        position = schema.get_field_index(name)
        if position >= 0:
            type_ = schema.field(position).type
            if kind_of(type_) not in ("null", reference.kind):
                check_type(role, name, type_, file.path, reference)
            try:
                check_type(role, name, type_, file.path, reference)
            except DataError as error:
                alone = alone or error
        if number + 1 >= SEARCHED_FILES:
            break
    if alone is not None:
        raise alone


def _unknown_column(name: str, schema: pa.Schema | None, root: str) -> ConfigError:
    names = schema.names if schema is not None else []
    head = name.partition(".")[0]
    if schema is not None and head != name and head in names:
        kind = kind_of(schema.field(schema.get_field_index(head)).type)
        if kind == "struct":
            return ConfigError(
                f"no column {name!r} in {root}: {head!r} is a struct, whose fields are not read yet; "
                "store the field as a column of its own"
            )
    return ConfigError(f"no column {name!r} in {root}{suggestion(name, names)}")
