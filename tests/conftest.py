"""Every run tries the same examples: a test that fails, fails again."""

from hypothesis import settings

settings.register_profile("errorfloor", derandomize=True, deadline=None)
settings.load_profile("errorfloor")
