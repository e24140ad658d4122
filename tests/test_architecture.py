"""The rooms of the house: imports go down only, what is heavy is loaded late, and sizes stay readable."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

pytestmark = pytest.mark.xdist_group("architecture")  # each module is parsed once

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "distmom"

BELOW = {
    "__main__": {"cli"},
    "cli": {
        *("jobs", "estimators", "designs", "state", "passes", "report", "cluster", "solvers", "reductions"),
        *("lake", "numerics"),
    },
    "jobs": {"distmom"},  # its public names
    "estimators": {
        "designs",
        "state",
        "passes",
        "inference",
        "report",
        "cluster",
        "solvers",
        "reductions",
        "lake",
        "numerics",
        "theory",
    },
    "passes": {"designs", "inference", "cluster", "reductions", "lake", "numerics"},
    "designs": {"reductions", "numerics", "theory"},
    "inference": {"numerics", "theory"},
    "report": {"designs", "reductions", "lake", "numerics"},
    "state": {"cluster", "reductions", "lake", "numerics"},
    "cluster": {"reductions", "lake", "numerics"},
    "solvers": {"reductions", "lake", "numerics"},
    "reductions": {"numerics"},
    "kernels": {"numerics"},
    "lake": {"numerics"},
    "numerics": set(),
    "theory": set(),
}
"""Rooms that a room may import from, beside itself."""

FREE = (
    *("checks", "errors", "json_lines", "keywords", "meanings", "memory", "remedies", "signals", "status"),
    *("stopping", "version", "words"),
)
"""Modules that every room may import."""

MOST_LINES, MOST_FUNCTION_LINES, MOST_MODULES, MOST_PARAMETERS = 350, 60, 20, 16


def sources(*folders: str) -> list[Path]:
    return sorted(path for folder in folders for path in (ROOT / folder).rglob("*.py"))


def room_of(path: Path) -> str:
    parts = path.relative_to(PACKAGE).parts
    return parts[0].removesuffix(".py")


@cache
def nodes(text: str) -> tuple[ast.AST, ...]:
    """All nodes of a module: parsed once for all rules."""
    return tuple(ast.walk(ast.parse(text)))


@cache
def imports(text: str) -> tuple[tuple[int, str], ...]:
    """Line and module of every import, those inside of functions and for the type checker included."""
    return tuple(_imports(text))


def _imports(text: str) -> Iterator[tuple[int, str]]:
    for node in nodes(text):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                yield node.lineno, "a relative module"
            elif node.module == "distmom":  # the room is the name
                yield from ((node.lineno, f"distmom.{alias.name}") for alias in node.names)
            else:
                yield node.lineno, node.module or ""
        elif isinstance(node, ast.Call) and called(node.func).endswith("import_module"):
            yield from ((node.lineno, str(a.value)) for a in node.args[:1] if isinstance(a, ast.Constant))


def called(function: ast.expr) -> str:
    """Last part of a function's name."""
    return str(getattr(function, "attr", getattr(function, "id", "")))


def wrong_arrows(text: str, room: str) -> list[str]:
    """Imports that a module of this room must not have."""
    allowed = BELOW[room] | {room, *FREE}
    found = []
    for line, module in imports(text):
        parts = [*module.split("."), "distmom"]
        if module == "a relative module" or (parts[0] == "distmom" and parts[1] not in allowed):
            found.append(f"line {line} imports {module}")
    return found


def test_groups_of_tests_stay_together(request: pytest.FixtureRequest) -> None:
    """A pytest that is too new for its pytest-xdist spreads them, and everything shared is made twice."""
    if request.config.getoption("loadgroup", False):
        assert request.node.nodeid.endswith("@architecture")


def test_every_room_is_known() -> None:
    rooms = {room_of(path) for path in sources("distmom")} - {"__init__", *FREE}
    assert rooms <= BELOW.keys()


def test_imports_go_down_only() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}: {line}"
        for path in sources("distmom")
        if room_of(path) not in ("__init__", *FREE)
        for line in wrong_arrows(path.read_text("utf-8"), room_of(path))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    "statement",
    [
        "from distmom.lake import open_lake",
        "import distmom.lake.reader as r",
        "from distmom import lake",
        "def late():\n    from distmom.lake import open_lake",
        "if TYPE_CHECKING:\n    from distmom.lake import Lake",
        "import importlib\nimportlib.import_module('distmom.lake')",
        "from ..lake import open_lake",
        "from distmom import mean",
        "import distmom",
    ],
)
def test_a_wrong_arrow_is_found(statement: str) -> None:
    assert wrong_arrows(statement, "numerics")
    assert not wrong_arrows(
        "from distmom.errors import DataError\nimport numpy\nimport distmom.numerics.tree", "lake"
    )


def test_jobs_and_pipelines_use_public_names_only() -> None:
    import distmom

    wrong = []
    for path in sources("distmom/jobs", "pipelines"):
        text = path.read_text("utf-8")
        used = [(line, module) for line, module in imports(text) if not _is_public(module, path)]
        used += [
            (node.lineno, f"dm.{node.attr}")
            for node in nodes(text)
            if isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "dm"
            if node.attr not in distmom.__all__
        ]
        wrong += [f"{path.relative_to(ROOT)}:{line} uses {name}" for line, name in used]
    assert not wrong, "\n".join(wrong)


def _is_public(module: str, path: Path) -> bool:
    """Public names, those of every room, the room of jobs, the parts of pages, the room that runs work."""
    if not module.startswith("distmom."):
        return True
    import distmom

    room = module.split(".")[1]
    return (
        room in {*distmom.__all__, "errors", "json_lines", "signals", "words"}
        or (room == "jobs" and (module == "distmom.jobs" or PACKAGE in path.parents))
        or module == "distmom.cluster"
        or module.startswith("distmom.report.page.")
    )


def test_the_package_knows_nothing_of_the_folder_of_jobs() -> None:
    """Whoever installs it may have a package 'pipelines' of his own."""
    wrong = [
        path for path in sources("distmom") for _, m in imports(path.read_text("utf-8")) if "pipelines" in m
    ]
    assert not wrong


def test_only_the_cluster_room_imports_dask() -> None:
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {module}"
        for path in sources("distmom", "pipelines")
        if PACKAGE / "cluster" not in path.parents
        for line, module in imports(path.read_text("utf-8"))
        if module.split(".")[0] in ("dask", "distributed")
    ]
    assert not wrong, "\n".join(wrong)


def test_numerics_and_theory_see_neither_files_nor_frames() -> None:
    for room in ("numerics", "theory"):
        for path in sources(f"distmom/{room}"):
            heavy = {m.split(".")[0] for _, m in imports(path.read_text("utf-8"))} & {
                "pyarrow",
                "dask",
                "pandas",
                "distributed",
            }
            assert not heavy, path


def loaded(statement: str) -> set[str]:
    """Top-level modules in memory after a statement in a fresh process."""
    code = f"import sys\n{statement}\nprint(*sorted({{m.split('.')[0] for m in sys.modules}}))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(run.stdout.split())


def test_importing_the_package_loads_nothing_heavy() -> None:
    assert not loaded("import distmom") & {
        "numpy",
        "pyarrow",
        "dask",
        "distributed",
        "numba",
        "scipy",
        "rich",
    }


def test_importing_numerics_loads_neither_dask_nor_pyarrow_nor_numba() -> None:
    plain = [p for p in sources("distmom/numerics") if not p.stem.endswith(("_compiled", "_jit", "__"))]
    assert len(plain) > 10
    modules = ", ".join(".".join(p.relative_to(ROOT).with_suffix("").parts) for p in plain)
    heavy = {"dask", "distributed", "pyarrow", "numba", "pandas", "scipy"}
    assert not loaded(f"import {modules}") & heavy


def test_a_small_mean_loads_neither_dask_nor_numba_nor_pandas() -> None:
    run = "import distmom, numpy; distmom.mean(numpy.arange(1000.0), rng=0, executor=distmom.Threads(1))"
    assert not loaded(run) & {"dask", "distributed", "numba", "pandas", "rich"}


def test_a_small_mean_does_not_load_the_functions_of_arrow() -> None:
    run = "import distmom, numpy; distmom.mean(numpy.arange(1000.0), rng=0, executor=distmom.Threads(1))"
    code = f"import sys\n{run}\nprint('pyarrow.compute' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "False"  # 60 ms and 8 MB


def test_modules_and_functions_stay_readable() -> None:
    wrong = []
    for path in sources("distmom", "pipelines"):
        text = path.read_text("utf-8")
        n_lines = text.count("\n")
        if n_lines > MOST_LINES:
            wrong.append(f"{path.relative_to(ROOT)}: {n_lines} lines")
        for node in nodes(text):
            if (
                isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
                and _length(node) > MOST_FUNCTION_LINES
            ):
                wrong.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {_length(node)} lines")
    assert not wrong, "\n".join(wrong)


def test_folders_stay_small() -> None:
    counts = Counter(path.parent for path in sources("distmom"))
    assert not {str(folder): n for folder, n in counts.items() if n > MOST_MODULES}


def test_functions_have_few_parameters() -> None:
    wrong = []
    for path in sources("distmom", "pipelines"):
        if path.stem.endswith("_compiled"):
            continue  # Numba takes arrays, not objects that hold them
        for node in nodes(path.read_text("utf-8")):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                names = [a.arg for a in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
                n = len([name for name in names if name not in ("self", "cls")])
                if n > MOST_PARAMETERS:
                    wrong.append(f"{path.relative_to(ROOT)}:{node.lineno} {node.name}: {n} parameters")
    assert not wrong, "\n".join(wrong)


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines of the body; neither the docstring nor the parameters, which are documentation as well."""
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0  # type: ignore[operator]


TEXT = {".py", ".md", ".toml", ".txt", ".yml", ".yaml", ".sh", ".cfg", ".json", ".html", ""}
SKIPPED = {
    "build",
    ".git",
    ".venv",
    ".hypothesis",
    ".mypy_cache",
    ".ruff_cache",
    ".pytest_cache",
    "demo",
    "__pycache__",
}
FORBIDDEN = {
    "a path of one machine": re.compile(r"/(?:work|root)/"),
    "the address of a package registry": re.compile(
        r"https?://[\w.-]*(?:pypi|pythonhosted|anaconda|artifactory)"
    ),
}


def texts() -> Iterator[Path]:
    """Files of text; folders that are skipped are not even entered, for one of them holds an environment."""
    for folder, folders, files in os.walk(ROOT):
        folders[:] = sorted(set(folders) - SKIPPED)
        for path in (Path(folder, name) for name in sorted(set(files) - SKIPPED)):
            if path.suffix in TEXT and path.is_file() and path != Path(__file__):
                yield path


@cache
def contents() -> dict[str, str]:
    return {str(path.relative_to(ROOT)): path.read_text("utf-8", "replace") for path in texts()}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_the_project_speaks_of_itself_alone(what: str) -> None:
    assert {"README.md", "Makefile", "distmom/version.py", ".ci/run"} <= contents().keys()
    found = [name for name, text in contents().items() if FORBIDDEN[what].search(text)]
    assert not found, f"{what} in {', '.join(found)}"


def test_no_module_is_called_utils() -> None:
    names = {path.stem for path in sources("distmom", "pipelines")}
    assert not names & {"utils", "util", "helpers", "misc", "common"}


def test_no_two_classes_have_one_name() -> None:
    """One name for one thing, private classes included: who reads a name finds one class."""
    homes = [
        (node.name, f"{path.relative_to(ROOT)}:{node.lineno}")
        for path in sources("distmom")
        for node in nodes(path.read_text("utf-8"))
        if isinstance(node, ast.ClassDef)
    ]
    counts = Counter(name for name, _ in homes)
    wrong = [f"{home} {name}" for name, home in sorted(homes) if counts[name] > 1]
    assert not wrong, "\n".join(wrong)
