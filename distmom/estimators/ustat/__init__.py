"""U-statistics: plan, run and answer."""
