"""Results, and results as text, JSON, Arrow and files."""

from distmom.report.mean_result import MeanResult
from distmom.report.plan_result import PlannedWay, PlanResult
from distmom.report.results import Results
from distmom.report.write import check_output, write_results

__all__ = ["MeanResult", "PlanResult", "PlannedWay", "Results", "check_output", "write_results"]
