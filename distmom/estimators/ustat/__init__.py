"""U-statistics: their plan, run and answer."""
