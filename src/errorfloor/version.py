"""The version, in one place; it needs no import, so the build can read it."""

__version__ = "0.1.0"
