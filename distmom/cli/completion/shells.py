"""The scripts that shells load; that of bash is our own, for words with spaces."""

from __future__ import annotations

from typing import ClassVar

import click
from click.shell_completion import BashComplete, add_completion_class, shell_complete

VARIABLE = "_DISTMOM_COMPLETE"

BASH = """\
%(complete_func)s() {
    local IFS=$'\\n' response line type value word="${COMP_WORDS[COMP_CWORD]}"
    response=$(env COMP_WORDS="${COMP_WORDS[*]}" COMP_CWORD=$COMP_CWORD \
%(complete_var)s=bash_complete "$1" 2> /dev/null)
    for line in $response; do
        type="${line%%%%,*}" value="${line#*,}"
        if [[ $type == dir ]]; then
            compopt -o dirnames
        elif [[ $type == file ]]; then
            compopt -o default
        elif [[ $type == plain ]]; then
            [[ $word == [\\"\\']* ]] || printf -v value '%%q' "$value"
            COMPREPLY+=("$value")
        fi
    done
    return 0
}

complete -o nosort -F %(complete_func)s %(prog_name)s
"""


class QuotingBash(BashComplete):
    """Completions with spaces are one word, and nothing is written to standard error."""

    source_template: ClassVar[str] = BASH


def complete(program: click.Command, wish: str) -> int:
    """Answer a shell with its script or with completions; if anything fails, there are none."""
    add_completion_class(QuotingBash, "bash")
    try:
        return shell_complete(program, {}, "distmom", VARIABLE, wish)
    except Exception:  # there is nobody to read it: the prompt would be spoilt
        return 1
