"""From block values to estimates with intervals: how many blocks, which of them, what the answer is worth."""
