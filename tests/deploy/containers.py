"""The image of deploy/container, built and run by buildah in a chroot: neither daemon nor image registry.

The base image is made by mmdebstrap under the name that the Dockerfile asks for. What is slow about it stays
in a cache. Needs root, and Debian's buildah and mmdebstrap.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from programs import ROOT, run

FOLDER = ROOT / "deploy/container"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "distmom-container"
CHROOT = ("--isolation", "chroot")
BUILD = 1_500
"""Seconds after which a build hangs: packages are fetched, and all kernels compiled, on any machine."""


class Buildah:
    """Images in the cache, containers and mounts in a folder of this session."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (CACHE / "tmp").mkdir(parents=True, exist_ok=True)
        self.settings = {"TMPDIR": str(CACHE / "tmp")}  # where it keeps the caches that the Dockerfile mounts
        self.words = ("buildah", "--root", CACHE / "storage", "--runroot", folder / "run")

    def __call__(self, *words: object, seconds: float = 300) -> str:
        code, out, err = run(*self.words, *words, seconds=seconds, **self.settings)
        assert code == 0, f"buildah {' '.join(map(str, words))}\n{out[-3000:]}{err[-3000:]}"
        return out

    def build(self) -> str:
        """The image, from layers that were built before where nothing has changed."""
        file = FOLDER / "Dockerfile"
        (base,) = set(re.findall(r"^FROM (\S+:\S+)", file.read_text(), re.MULTILINE))
        if not self("images", "--quiet", "--filter", f"reference={base}"):
            self.make_base(base)
        ignored = ("--ignorefile", FOLDER / "Dockerfile.dockerignore", "--format", "docker", "--layers")
        words = (*CHROOT, *ignored, *self._registry(), "--file", file, "--tag", "distmom", ROOT)
        self("build", *words, seconds=BUILD)
        return "localhost/distmom"

    def make_base(self, name: str) -> None:
        """Debian's essential packages and apt; as in the published image, dpkg does not wait for the disk."""
        archive = self.folder / "base.tar"
        hook = "--customize-hook=echo force-unsafe-io > $1/etc/dpkg/dpkg.cfg.d/docker-apt-speedup"
        words = ("mmdebstrap", "--quiet", "--variant=minbase", hook, "trixie", archive)
        code, _, err = run(*words, seconds=BUILD)
        assert code == 0, err
        container = self("from", "scratch").strip()
        self("add", "--quiet", container, archive, "/")
        self("commit", "--quiet", "--rm", container, name)
        archive.unlink()

    def _registry(self) -> Iterator[object]:
        """Mounts that let pip reach the package registry as it does outside of the image."""
        said = run(sys.executable, "-m", "pip", "config", "list")[1]
        settings = dict(re.findall(r"^\S+?\.(cert|index-url|timeout)='(.*)'$", said, re.MULTILINE))
        if "cert" in settings:
            yield from ("--volume", f"{settings['cert']}:/run/registry.pem:ro")
            settings["cert"] = "/run/registry.pem"
        file = self.folder / "pip.conf"
        file.write_text("\n".join(["[global]", *(f"{name} = {value}" for name, value in settings.items())]))
        yield from ("--volume", f"{file}:/etc/pip.conf:ro")

    def inspect(self, image: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self("inspect", "--type", "image", image))
        return found

    @contextmanager
    def container(self, image: str, *options: object) -> Iterator[str]:
        name = self("from", *options, image).strip()
        try:
            yield name
        finally:
            self("rm", name)

    def run(self, container: str, command: list[str], *options: object) -> tuple[object, ...]:
        """Words that run a command in a container."""
        return (*self.words, "run", *CHROOT, *options, container, "--", *command)
