"""Arrays in, arrays out: draws, labels, moments, medians, U-statistics. No files, no clusters, no clocks."""
