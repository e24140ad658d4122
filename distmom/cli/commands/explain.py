"""``distmom explain``: what a word of the output means."""

from __future__ import annotations

from distmom.cli.failures import write_stdout
from distmom.cli.layout import Argument, command

EXAMPLES = (
    ("a status", "distmom explain 'files disagree'"),
    ("an exit code", "distmom explain 7"),
    ("all exit codes", "distmom explain exit"),
)


@command(
    "explain",
    "Explain a status, a note, an exit code or an interval.",
    Argument("word", "Word to explain; without one, all words are listed.", nargs=-1, metavar="[WORD]"),
    examples=EXAMPLES,
)
def explain_command(word: tuple[str, ...]) -> int:
    """Explain a word that a command has printed: what it means, what was done, what to do."""
    from distmom.cli.meanings.lookup import listing, meaning_of

    write_stdout("\n".join(one.text() for one in meaning_of(" ".join(word))) if word else listing())
    return 0
