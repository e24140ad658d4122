"""Arrays in, arrays out: draws, labels, moments, medians. No files, no clusters, no clocks."""
