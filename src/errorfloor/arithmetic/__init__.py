"""Exact polynomials of a row, whole sums as arrays, and double words: the arithmetic of answers, without a database."""
