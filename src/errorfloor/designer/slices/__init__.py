"""Answers that depend on each other: noise on the best slice of the support."""
