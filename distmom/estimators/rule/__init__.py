"""The rule behind n_blocks="auto": blocks put to the test, and the answer they give."""
