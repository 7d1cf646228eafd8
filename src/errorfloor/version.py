"""The version, in one place; it needs no import, so the build can read it."""

VERSION = "0.1.0"
