"""What is reported of models that may be wrong, and of rows that may be real."""
