"""U-statistics by sorting."""
