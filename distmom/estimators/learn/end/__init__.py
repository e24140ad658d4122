"""The end of a training: which of several fits is the model, and what is known of it."""
