"""Results, and results as text, JSON, Arrow and files."""

from distmom.report.kinds.compare import CompareResult
from distmom.report.kinds.describe import DescribeResult, NamedUnit, Reason
from distmom.report.kinds.difference import DifferenceResult
from distmom.report.kinds.mean import MeanResult
from distmom.report.kinds.profile import ColumnProfile, DiscrepancySource
from distmom.report.kinds.tournament import CandidateResult, Duels, TournamentResult
from distmom.report.kinds.train import TrainResult
from distmom.report.kinds.ustatistic import UStatisticResult
from distmom.report.kinds.vector import VectorResult
from distmom.report.results import Results
from distmom.report.write import check_output, write_results

__all__ = [
    "CandidateResult",
    "ColumnProfile",
    "CompareResult",
    "DescribeResult",
    "DifferenceResult",
    "DiscrepancySource",
    "Duels",
    "MeanResult",
    "NamedUnit",
    "Reason",
    "Results",
    "TournamentResult",
    "TrainResult",
    "UStatisticResult",
    "VectorResult",
    "check_output",
    "write_results",
]
