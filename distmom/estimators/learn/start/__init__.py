"""What a sample of the rows shows before the first step."""
