"""Fits to a sample of rows that a pilot makes where the loss of a row is not one of a single prediction."""
