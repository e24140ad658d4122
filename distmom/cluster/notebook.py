"""Progress in the output of a notebook's cell."""

from __future__ import annotations

import sys
from importlib import import_module
from time import monotonic
from typing import Any

from distmom.cluster.rate import Rate

DRAW_SECONDS = 0.5


def in_notebook() -> bool:
    """Whether a kernel of Jupyter runs this: an IPython whose output is displayed elsewhere."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return getattr(shell, "kernel", None) is not None


class NotebookProgress:
    """A bar below the cell, drawn at most twice a second. It disappears at the end."""

    def __init__(self, title: str = "reading") -> None:
        self.title = title
        self._shown: Any = None
        self.begin(0, 0)

    def begin(self, n_units: int, n_bytes: int) -> None:
        """Start counting."""
        self.rate, self._drawn = Rate(n_bytes), 0.0

    def advance(self, n_rows: int, n_bytes: int) -> None:
        """Move the bar."""
        self.rate.add(n_rows, n_bytes)
        if self.rate.total and monotonic() - self._drawn >= DRAW_SECONDS:
            self._drawn = monotonic()
            total, done = self.rate.total, min(self.rate.n_bytes, self.rate.total)
            bar = f'<progress max="{total}" value="{done}"></progress>'
            rate = self.rate.describe()
            self._draw(f"<div>{self.title} {bar} {rate}</div>", f"{self.title}: {rate}")

    def end(self) -> None:
        """Remove the bar."""
        if self._shown is not None:
            self._draw("", "")

    def _draw(self, html: str, text: str) -> None:
        """Both are saved in the notebook's file: viewers without HTML show the text, not an object's name."""
        shown = {"text/html": html, "text/plain": text}
        if self._shown is None:
            display = import_module("IPython.display").display
            self._shown = display(shown, raw=True, display_id=True)
        else:
            self._shown.update(shown, raw=True)
