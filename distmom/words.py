"""How messages are worded: on one line, and with flags or keys for callers who do not use Python objects."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any


def printable(text: str) -> str:
    """The text on one line, with control characters shown as escapes."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def counted(n: int, what: str) -> str:
    """A number and what it counts.

    Examples
    --------
    >>> counted(1, "file"), counted(1_000, "result")
    ('1 file', '1,000 results')
    """
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"


def told_statuses(counts: Mapping[str, int]) -> str:
    """How many results there are, and their statuses.

    Examples
    --------
    >>> told_statuses({"files disagree": 1})
    '1 result: files disagree'
    >>> told_statuses({"ok": 3, "sample mean, no guarantee": 1})
    '4 results: ok (3); sample mean, no guarantee (1)'
    """
    several = len(counts) > 1
    words = (f"{status} ({n:,})" if several else str(status) for status, n in counts.items())
    return f"{counted(sum(counts.values()), 'result')}: {'; '.join(words)}"


@dataclass(frozen=True)
class Wording:
    """The wording of messages for callers who do not use Python objects.

    Attributes
    ----------
    kinds : mapping of str to str
        Names of classes.
    heads : mapping of str to str
        Text before the fields of a call, if it differs; also for the call
        ``"SampledBlocks(replace=True)"``.
    fields : mapping of str to mapping
        For each class, the names of its fields, in the order in which a call takes them.
    names : mapping of str to str
        Names of parameters, used if a message begins with one, says that two cannot be combined, or gives a
        value.
    value : str
        Format of a name and its value, such as ``"{} {}"``.
    shown : callable
        Formats a value.
    between : str
        Separator of fields.
    phrases : mapping of str to str
        Other phrases to replace.
    """

    kinds: Mapping[str, str]
    heads: Mapping[str, str]
    fields: Mapping[str, Mapping[str, str]]
    names: Mapping[str, str]
    value: str = "{} {}"
    shown: Callable[[Any], str] = str
    between: str = " "
    phrases: Mapping[str, str] = field(default_factory=dict)

    def of(self, text: str) -> str:
        """The message in this wording; quoted text is not changed.

        Examples
        --------
        >>> fields = {"RandomBlocks": {"n": "--blocks", "size": "--block-size"}}
        >>> kinds, heads = {"RandomBlocks": "random blocks"}, {"RandomBlocks": ""}
        >>> flags = Wording(kinds, heads, fields, {"interval": "--interval"})
        >>> flags.of("RandomBlocks: size: must be 1; use interval='cantelli'")
        '--block-size: must be 1; use --interval cantelli'
        >>> flags.of("RandomBlocks(5) makes other blocks than RandomBlocks()")
        '--blocks 5 makes other blocks than random blocks'
        """
        return self._pattern.sub(self._said, text)

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        def one_of(words: Any) -> str:
            return "|".join(map(re.escape, sorted(words, key=len, reverse=True))) or "(?!)"

        begin, end, names = r"(?<![\w.'\"-])", r"(?![\w'\"])", one_of(self.names)
        kinds = one_of({*self.kinds, *self.fields})
        fields_ = one_of({name for of in self.fields.values() for name in of})
        long = one_of(name for name in self.names if "_" in name)
        return re.compile(
            rf"{begin}(?P<phrase>{one_of(self.phrases)}){end}"
            rf"|{begin}(?P<owner>{kinds}): (?P<field>{fields_})(?: and (?P<other>{fields_}))?(?=:| )"
            rf"|{begin}(?:(?:blocks|pairs)=)?(?P<call>{kinds})\((?P<inside>[^()]*)\)"
            rf"|{begin}(?P<kind>{one_of(self.kinds)})(?![\w'\"(=])"
            rf"|{begin}(?P<chosen>{names})=(?P<value>'[^']*'|\"[^\"]*\")"
            rf"|(?:^|(?<=cannot be combined with ))(?P<name>{names})(?=:| must | cannot be combined with )"
            rf"|{begin}(?P<long>{long})(?![\w'\"=])"
        )

    def _said(self, found: re.Match[str]) -> str:
        if found["phrase"]:
            return self.phrases[found["phrase"]]
        if found["owner"]:
            of = self.fields.get(found["owner"], {})
            return " and ".join(of.get(one, one) for one in found.group("field", "other") if one)
        if found["call"]:
            return self._call(found["call"], found["inside"])
        if found["kind"]:
            return self.kinds[found["kind"]]
        if found["chosen"]:
            return self.value.format(
                self.names[found["chosen"]], self.shown(ast.literal_eval(found["value"]))
            )
        return self.names[found["name"] or found["long"]]

    def _call(self, kind: str, inside: str) -> str:
        """A call: the text before its fields, and the fields."""
        bare, flags = self.kinds.get(kind, kind), self.fields.get(kind, {})
        replaced = f"{kind}(replace=True)" if "replace=True" in inside else kind
        told = [self.heads.get(replaced, self.heads.get(kind, bare))]
        for place, (name, value) in enumerate(re.findall(r"(?:(\w+)=)?(\[[^\]]*\]|[^,\s]+)", inside)):
            flag = flags.get(name) if name else [*flags.values()][place]
            if flag is None:
                continue
            try:
                told.append(self.value.format(flag, self.shown(ast.literal_eval(value))))
            except (ValueError, SyntaxError):  # stands for a value, as in SampledPairs(n)
                told.append(flag)
        return self.between.join(filter(None, told)) or bare
