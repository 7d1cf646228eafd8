"""The noise of many trips, step by step: the same to the last bit however many are carried together, compiled or not.

A product of matrices by a library may round differently for one column than for a thousand, and on another machine.
Here every number is a sum of products in the order of the states, in plain double operations.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from errorfloor.checks import Array
from errorfloor.errors import InputError
from errorfloor.noise.lattice import MOST, Lattice

WORTH_COMPILING = 1000  # trips; loading the compiler takes longer than carrying fewer without it
BLOCK = 512  # trips that stay in a processor's cache between sums


class Carrier:
    """States z of many trips, one a column, moved on by matrices.

    >>> carrier = Carrier(np.array([[1.0, 4.0], [2.0, 0.0]]))
    >>> carrier.move(np.array([[1.0, 1.0], [0.0, 1.0]]))
    >>> carrier.seen(np.array([[1.0, 0.0]]))
    array([[3., 4.]])
    """

    def __init__(self, states: Array) -> None:
        self._states = np.array(states, dtype=float)
        self._next = np.empty_like(self._states)
        self._kernels = compiled() if self._states.shape[1] >= WORTH_COMPILING else None

    def move(self, matrix: Array) -> None:
        """Multiply every state by a matrix."""
        if self._kernels is None:
            products(matrix, self._states, self._next)
        else:
            self._kernels[0](np.array(matrix), self._states, self._next)
        self._states, self._next = self._next, self._states

    def seen(self, matrix: Array) -> Array:
        """Give matrix·z for every trip, one a column."""
        out = np.empty((len(matrix), self._states.shape[1]))
        products(matrix, self._states, out)
        return out

    def released(self, matrix: Array, given: Array, offset: Array, added: Array | None, lattice: Lattice) -> Array:
        """Give (given + matrix·z + offset + added), rounded to the lattice, one row a trip.

        Raises InputError if one of them is not finite, or too large for its lattice.
        """
        if self._kernels is not None and added is None:
            out = np.empty_like(given)
            above, below = lattice.ratio
            if self._kernels[1](np.array(matrix), self._states, given, np.array(offset), above, below, out):
                return out
        released = given + (self.seen(matrix).T + offset)
        if added is not None:
            released += added.T
        if not np.isfinite(released).all():
            raise InputError("a measurement is not a finite number: leave out steps without one with seek")
        return lattice.round_in_place(released)


def products(matrix: Array, states: Array, out: Array) -> None:
    """Fill ``out`` with matrix·states, with NumPy alone."""
    term = np.empty(states.shape[1])
    for row, target in zip(matrix.tolist(), out, strict=True):
        terms = [(value, state) for value, state in zip(row, states, strict=True) if value != 0.0]
        if not terms:
            target[:] = 0.0
            continue
        np.multiply(terms[0][1], terms[0][0], out=target)
        for value, state in terms[1:]:
            np.multiply(state, value, out=term)
            np.add(target, term, out=target)


def power(matrix: Array, exponent: int) -> Array:
    """Give a power of a matrix by squaring, in the same fixed order of sums.

    >>> power(np.array([[1.0, 1.0], [0.0, 1.0]]), 5)
    array([[1., 5.],
           [0., 1.]])
    """
    result, factor = np.eye(len(matrix)), np.array(matrix, dtype=float)
    while exponent:
        if exponent % 2:
            carried = np.empty_like(result)
            products(factor, result, carried)
            result = carried
        squared = np.empty_like(factor)
        products(factor, factor, squared)
        factor, exponent = squared, exponent // 2
    return result


@cache
def compiled() -> tuple[Callable[..., Any], Callable[..., Any]] | None:
    """Give the product, and the product added to measurements and rounded, by Numba; None where it is not installed."""
    try:
        from numba import njit
    except ModuleNotFoundError:
        return None
    most, block = MOST, BLOCK

    # slices first: a loop from 0 over a slice needs no test for negative places, and runs several numbers at a time

    @njit("void(f8[::1], i8[::1], f8[:, ::1], i8, i8, f8[::1])", nogil=True, cache=True)
    def row_product(row, terms, states, start, stop, out):  # type: ignore[no-untyped-def]
        if terms.size == 0:
            out[: stop - start] = 0.0
            return
        done = 1
        if terms.size >= 4:  # four terms a pass, added from left to right, as one at a time would be
            done = 4
            a, b, c, d = row[terms[0]], row[terms[1]], row[terms[2]], row[terms[3]]
            p, q = states[terms[0], start:stop], states[terms[1], start:stop]
            r, s = states[terms[2], start:stop], states[terms[3], start:stop]
            for e in range(p.size):
                out[e] = p[e] * a + q[e] * b + r[e] * c + s[e] * d
        else:
            a, p = row[terms[0]], states[terms[0], start:stop]
            for e in range(p.size):
                out[e] = p[e] * a
        while terms.size - done >= 3:
            a, b, c = row[terms[done]], row[terms[done + 1]], row[terms[done + 2]]
            p, q = states[terms[done], start:stop], states[terms[done + 1], start:stop]
            r = states[terms[done + 2], start:stop]
            for e in range(p.size):
                out[e] = out[e] + p[e] * a + q[e] * b + r[e] * c
            done += 3
        while done < terms.size:
            a, p = row[terms[done]], states[terms[done], start:stop]
            for e in range(p.size):
                out[e] += p[e] * a
            done += 1

    @njit("void(f8[:, ::1], f8[:, ::1], f8[:, ::1])", nogil=True, cache=True)
    def move(matrix, states, out):  # type: ignore[no-untyped-def]
        terms = [np.flatnonzero(matrix[i]) for i in range(matrix.shape[0])]
        for start in range(0, states.shape[1], block):
            stop = min(start + block, states.shape[1])
            for i in range(matrix.shape[0]):
                row_product(matrix[i], terms[i], states, start, stop, out[i, start:stop])

    @njit("b1(f8[:, ::1], f8[:, ::1], f8[:, ::1], f8[::1], f8, f8, f8[:, ::1])", nogil=True, cache=True)
    def release(matrix, states, given, offset, above, below, out):  # type: ignore[no-untyped-def]
        m = matrix.shape[0]
        noise, mixed = np.empty(block), np.empty(block * m)  # output by output, and as the measurements lie
        flat, target = given.reshape(-1), out.reshape(-1)
        terms = [np.flatnonzero(matrix[i]) for i in range(m)]
        far = 0
        for start in range(0, states.shape[1], block):
            stop = min(start + block, states.shape[1])
            for i in range(m):
                row_product(matrix[i], terms[i], states, start, stop, noise)
                shift = offset[i]
                for e in range(stop - start):
                    mixed[e * m + i] = noise[e] + shift
            measured, rounded = flat[start * m : stop * m], target[start * m : stop * m]
            if above == 1.0:
                for e in range(measured.size):
                    steps = np.rint((measured[e] + mixed[e]) * below)
                    far += 0 if abs(steps) < most else 1
                    rounded[e] = steps / below + 0.0
            else:
                for e in range(measured.size):
                    steps = np.rint((measured[e] + mixed[e]) * below / above)
                    far += 0 if abs(steps) < most else 1
                    rounded[e] = steps * above / below + 0.0
        return far == 0

    return move, release
