"""Results, and results as text, JSON, Arrow and files."""

from distmom.report.column_profile import ColumnProfile, GapSource
from distmom.report.compare_result import CompareResult
from distmom.report.describe_result import DescribeResult, NamedUnit, Reason
from distmom.report.difference_result import DifferenceResult
from distmom.report.mean_result import MeanResult
from distmom.report.plan_result import PlannedWay, PlanResult
from distmom.report.result import Result
from distmom.report.results import Results
from distmom.report.tournament_result import CandidateResult, Duels, TournamentResult
from distmom.report.train_result import TrainResult
from distmom.report.ustat_result import UStatisticResult
from distmom.report.vector_result import VectorResult
from distmom.report.write import check_output, write_results

__all__ = [
    "CandidateResult",
    "ColumnProfile",
    "CompareResult",
    "DescribeResult",
    "DifferenceResult",
    "Duels",
    "GapSource",
    "MeanResult",
    "NamedUnit",
    "PlanResult",
    "PlannedWay",
    "Reason",
    "Result",
    "Results",
    "TournamentResult",
    "TrainResult",
    "UStatisticResult",
    "VectorResult",
    "check_output",
    "write_results",
]
