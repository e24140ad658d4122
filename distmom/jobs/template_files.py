"""Templates written by `distmom init`. The files in the folder ``templates`` are the only copies."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable


def template_names() -> list[str]:
    """Names of all templates: kinds of jobs, whose template is one file, and folders."""
    return sorted(one.name.removesuffix(".toml") for one in _all())


def template_files(name: str) -> dict[str, str]:
    """Text of each file of a template, by name; the file of a job has the name of the job."""
    for one in _all():
        if one.name == name:
            return {file.name: file.read_text("utf-8") for file in _sorted(one)}
        if one.name == f"{name}.toml":
            return {one.name: one.read_text("utf-8")}
    raise KeyError(name)


def is_folder(name: str) -> bool:
    """Whether a template is a folder of files, rather than the configuration of a job."""
    return any(one.name == name for one in _all())


def _all() -> Iterator[Traversable]:
    return _sorted(files("distmom.jobs") / "templates")


def _sorted(folder: Traversable) -> Iterator[Traversable]:
    return iter(sorted(folder.iterdir(), key=lambda one: one.name))
