"""The result of comparing a column in two samples by one statistic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from distmom.remedies import FILES, Remedies
from distmom.report.kinds.ustatistic import UStatisticResult

_TEST = (
    *("first", "second", "p_value", "p_holm", "drifted", "p_reason", "n_permutations"),
    *("n_test_rows", "n_test_units", "smallest_p", "bandwidth"),
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CompareResult(UStatisticResult):
    """A robust difference of two samples, its interval, and a permutation test of their equality.

    Attributes
    ----------
    first, second : str
        Names of the samples.
    compared_by : str
        The statistic: ``mean``, ``auc``, ``energy``, ``mmd`` or ``mmd-laplace``.
    p_value : float or None
        Share of the permutations with a statistic at least as extreme; None if there is a `p_reason`.
    p_holm : float or None
        The Holm-adjusted p-value, for all columns and statistics of the run.
    p_reason : str or None
        Why there is no p-value.
    n_permutations : int
    n_test_rows, n_test_units : (int, int)
        Rows and exchangeable units of each sample that took part in the test.
    smallest_p : float or None
        Smallest possible p-value for this number of units and permutations.
    bandwidth : float or None
        Bandwidth of a maximum mean discrepancy.

    Notes
    -----
    `estimate` compares the second sample with the first.
    """

    compared_by: str = ""
    p_value: float | None = None
    p_holm: float | None = None
    p_reason: str | None = None
    n_permutations: int = 0
    n_test_rows: tuple[int, int] = (0, 0)
    n_test_units: tuple[int, int] = (0, 0)
    smallest_p: float | None = None
    bandwidth: float | None = None

    kind: ClassVar[str] = "Comparison of two samples"
    several: ClassVar[str] = "comparisons"
    remedies: ClassVar[Remedies] = Remedies(files=FILES)
    told_by: ClassVar[str] = "compared.tell_compare"
    shown: ClassVar[tuple[str, ...]] = ("column", "compared_by", *_TEST, *UStatisticResult.shown[1:])

    @property
    def first(self) -> str:  # noqa: D102
        return self.samples[0]

    @property
    def second(self) -> str:  # noqa: D102
        return self.samples[1]

    @property
    def drifted(self) -> bool:
        """Whether the Holm-adjusted p-value is significant at the confidence level."""
        return self.p_holm is not None and self.p_holm <= 1.0 - self.confidence_level + 1e-12

    @property
    def name(self) -> str:  # noqa: D102
        return f"{self.column} {self.compared_by}"

    def records(self) -> list[dict[str, Any]]:  # noqa: D102
        (record,) = super().records()
        test = {name: getattr(self, name) for name in _TEST if not name.startswith("n_test")}
        sizes = {"n_test_rows": sum(self.n_test_rows), "n_test_units": sum(self.n_test_units)}
        return [{"column": self.column, "compared_by": self.compared_by, **test, **sizes} | record]

    @property
    def marked(self) -> bool:  # noqa: D102
        return super().marked or bool(self.drifted)

    def headers(self) -> tuple[str, ...]:  # noqa: D102
        _, *numbers = super().headers()
        return ("estimate", *numbers[:2], "p", "p (Holm)", *numbers[2:])

    def lines(self) -> list[tuple[str, tuple[str, ...]]]:  # noqa: D102
        p = ("" if value is None else f"{value:.3g}" for value in (self.p_value, self.p_holm))
        return [(self.name, (*self.shown_values(), *p, *self.counts()))]

    def remarks(self) -> list[str]:  # noqa: D102
        missing = [f"no p-value: {self.p_reason}"] if self.p_reason else []
        drifted = [f"{self.first} and {self.second} differ"] if self.drifted else []
        return [*drifted, *missing, *super(UStatisticResult, self).remarks()]
