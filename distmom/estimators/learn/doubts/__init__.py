"""What is told of models that may be wrong, and of rows that may be real."""
