"""From block values to estimates with intervals: number of blocks, their selection, and statuses."""
