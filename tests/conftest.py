"""Settings for all tests."""

from hypothesis import settings

settings.register_profile("default", derandomize=True, deadline=None, max_examples=40)
settings.register_profile("thorough", derandomize=True, deadline=None, max_examples=500)
settings.load_profile("default")
