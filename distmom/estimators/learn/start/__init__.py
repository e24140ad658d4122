"""What a sample of the rows tells before the first step."""
