"""Turn what a caller gave into arrays, or say what is wrong with it.

Every constructor and function of the library validates here, once, so that the formulas behind it can trust
their arguments.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from errorfloor.errors import InputError

Array = NDArray[Any]  # of float64 unless a name says otherwise; truth values in tests of membership

LEAST = 1e-75  # the least and, inverted, the greatest length: their fourth powers are still doubles
SYMMETRY = 1e-9  # relative asymmetry that is taken for rounding


def real(name: str, value: Any, error: type[InputError] = InputError) -> float:
    """Give a finite number as a float.

    >>> real("width", 2)
    2.0
    >>> real("width", float("nan"))
    Traceback (most recent call last):
    errorfloor.errors.InputError: width must be a finite number, got nan
    """
    if type(value) is float and math.isfinite(value):  # as nearly always
        return value
    array = numbers(name, value, error)
    if array.size != 1 or not np.isfinite(array).all():
        raise error(f"{name} must be a finite number, got {_show(value)}")
    return float(array.reshape(()))


def positive(name: str, value: Any, error: type[InputError] = InputError) -> float:
    """Give a number above zero as a float; squares of it and of its inverse must stay within double precision.

    >>> positive("scale", 0)
    Traceback (most recent call last):
    errorfloor.errors.InputError: scale must be positive, got 0
    """
    number = real(name, value, error)
    if number <= 0:
        raise error(f"{name} must be positive, got {_show(value)}")
    if not LEAST <= number <= 1 / LEAST:
        raise error(f"{name} must lie between {LEAST:g} and {1 / LEAST:g}, got {_show(value)}: rescale the data")
    return number


def whole(name: str, value: Any, error: type[InputError] = InputError, least: int = 1) -> int:
    """Give an integer of at least ``least``.

    >>> whole("dimension", 0)
    Traceback (most recent call last):
    errorfloor.errors.InputError: dimension must be a whole number of at least 1, got 0
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise error(f"{name} must be a whole number of at least {least}, got {_show(value)}")
    return int(value)


def vector(name: str, value: Any, error: type[InputError] = InputError) -> Array:
    """Give a non-empty, finite, one-dimensional array, not writeable."""
    array = np.atleast_1d(numbers(name, value, error))
    if array.ndim != 1 or array.size == 0:
        raise error(f"{name} must be a list of numbers, got an array of shape {array.shape}")
    return _sealed(name, array, error)


def matrix(name: str, value: Any, error: type[InputError] = InputError) -> Array:
    """Give a non-empty, finite, two-dimensional array, not writeable; a number is a 1×1 matrix."""
    array = numbers(name, value, error)
    if array.ndim == 0:
        array = array.reshape(1, 1)
    if array.ndim != 2 or array.size == 0:
        raise error(f"{name} must be a matrix, got an array of shape {array.shape}")
    return _sealed(name, array, error)


def square(name: str, value: Any, dimension: int, error: type[InputError] = InputError) -> Array:
    """Give a finite ``dimension`` × ``dimension`` matrix."""
    array = matrix(name, value, error)
    if array.shape != (dimension, dimension):
        raise error(f"{name} must be {dimension}×{dimension}, got {array.shape[0]}×{array.shape[1]}")
    return array


def invertible(name: str, value: Any, dimension: int, error: type[InputError] = InputError) -> Array:
    """Give a square matrix that maps no direction to zero.

    >>> invertible("matrix", [[1, 2], [2, 4]], 2)
    Traceback (most recent call last):
    errorfloor.errors.InputError: matrix must be invertible: it maps a whole direction to zero (rank 1 of 2)
    """
    array = square(name, value, dimension, error)
    rank = scaled_rank(array)
    if rank < dimension:
        raise error(f"{name} must be invertible: it maps a whole direction to zero (rank {rank} of {dimension})")
    return array


def symmetric(name: str, value: Any, dimension: int | None = None, error: type[InputError] = InputError) -> Array:
    """Give a symmetric positive semi-definite matrix; rounding in it is symmetrised away.

    >>> symmetric("covariance", [[1.0, 2.0], [0.0, 1.0]])
    Traceback (most recent call last):
    errorfloor.errors.InputError: covariance must be symmetric, but entries (0,1) and (1,0) are 2.0 and 0.0
    """
    array = matrix(name, value, error)
    size = array.shape[0] if dimension is None else dimension
    array = square(name, array, size, error)
    difference = np.abs(array - array.T)
    if difference.max() > SYMMETRY * np.abs(array).max():
        i, j = np.unravel_index(int(difference.argmax()), difference.shape)
        raise error(
            f"{name} must be symmetric, but entries ({i},{j}) and ({j},{i}) "
            f"are {float(array[i, j])} and {float(array[j, i])}"
        )
    array = (array + array.T) / 2
    diagonal = np.diag(array)
    if diagonal.min() < 0:
        raise error(f"{name} must be positive semi-definite, but has the diagonal entry {float(diagonal.min()):.6g}")
    scale = np.where(diagonal > 0, np.sqrt(diagonal), 1.0)
    least = float(np.linalg.eigvalsh(array / scale / scale[:, None])[0])
    if least < -SYMMETRY:
        raise error(f"{name} must be positive semi-definite, but has an eigenvalue of {least:.6g} at unit diagonal")
    array.setflags(write=False)
    return array


def positive_definite(
    name: str, value: Any, dimension: int | None = None, error: type[InputError] = InputError
) -> Array:
    """Give a symmetric matrix whose eigenvalues are all well above zero.

    >>> positive_definite("covariance", [[1.0, 1.0], [1.0, 1.0]])
    Traceback (most recent call last):
    errorfloor.errors.InputError: covariance must be positive definite, but has rank 1 of 2
    """
    array = symmetric(name, value, dimension, error)
    rank = rank_of(array)
    if rank < array.shape[0]:
        raise error(f"{name} must be positive definite, but has rank {rank} of {array.shape[0]}")
    return array


def rank_of(array: Array) -> int:
    """Rank of a symmetric positive semi-definite matrix, to rounding.

    The scale of each coordinate is taken out first, so that units (kWh beside tonnes) do not decide the rank.

    >>> rank_of(np.diag([1.0, 1e-20]))
    2
    """
    scale = np.sqrt(np.clip(np.diag(array), 0, None))
    live = scale > 0
    if not live.any():
        return 0
    correlation = array[np.ix_(live, live)] / scale[live] / scale[live][:, None]
    values = np.linalg.eigvalsh(correlation)
    return int((values > values[-1] * live.sum() * 1e-14).sum())


def scaled_rank(array: Array) -> int:
    """Rank of any matrix after its rows, and then its columns, are brought to unit length.

    >>> scaled_rank(np.diag([1.0, 1e17]))
    2
    """
    for axis in (1, 0):
        length = np.linalg.norm(array, axis=axis, keepdims=True)
        array = array / np.where(length > 0, length, 1.0)
    values = np.linalg.svd(array, compute_uv=False)
    return int((values > values[0] * max(array.shape) * 1e-15).sum())


def points(name: str, value: Any, dimension: int) -> Array:
    """Give points as an array of shape (..., dimension); in one dimension plain numbers are points.

    >>> points("w", [0.0, 1.0], 1).shape
    (2, 1)
    >>> points("w", [0.0, 1.0], 2).shape
    (2,)
    """
    array = numbers(name, value)
    if dimension == 1:
        return array[..., None]
    if array.ndim == 0 or array.shape[-1] != dimension:
        raise InputError(f"{name} must be points of dimension {dimension} along the last axis, got shape {array.shape}")
    return array


def as_jacobian(jacobian: Any, dimension: int) -> Array:
    """Give an m×n Jacobian; for one answer a plain list of n derivatives will do.

    >>> as_jacobian([1.0, 2.0, 3.0], 1).shape
    (1, 3)
    """
    array = numbers("jacobian", jacobian)
    if dimension == 1 and array.ndim == 1:
        array = array[None, :]
    C = matrix("jacobian", array)
    if C.shape[0] != dimension:
        raise InputError(
            f"jacobian must have one row for each of the {dimension} answers, got {C.shape[0]}×{C.shape[1]}"
        )
    if ((C != 0) & (np.abs(C) < LEAST)).any():
        raise InputError(f"jacobian has entries below {LEAST:g} that are not zero: rescale the data")
    return C


def broadcast(name: str, value: Any, count: int) -> Array:
    """Give one finite number for each of ``count`` things; a single number stands for all.

    >>> broadcast("spacing", [1, 2, 3], 2)
    Traceback (most recent call last):
    errorfloor.errors.InputError: spacing must be one number, or 2 of them, got 3
    """
    array = numbers(name, value)
    if array.ndim > 1 or array.size not in (1, count):
        raise InputError(f"{name} must be one number, or {count} of them, got {array.size}")
    return vector(name, np.broadcast_to(array.reshape(-1), (count,)))


def numbers(name: str, value: Any, error: type[InputError] = InputError) -> Array:
    """Give any array of numbers as float64, whatever its shape.

    >>> numbers("distance", 10**400)
    Traceback (most recent call last):
    errorfloor.errors.InputError: distance must be numbers that double precision can hold, got 1000000000...
    """
    try:
        array = np.asarray(value)
    except ValueError:
        raise error(f"{name} must be numbers in a regular grid, got rows of different lengths") from None
    try:
        if array.dtype == np.object_ and all(isinstance(item, int) for item in array.flat):
            array = array.astype(np.float64)  # whole numbers of any length
    except OverflowError:
        raise error(f"{name} must be numbers that double precision can hold, got {_show(value)}") from None
    if array.dtype == np.bool_ or not np.can_cast(array.dtype, np.float64, casting="same_kind"):
        raise error(f"{name} must be numbers, got {_show(value)}")
    return array.astype(np.float64)


def _sealed(name: str, array: Array, error: type[InputError]) -> Array:
    if not np.isfinite(array).all():
        bad = array[~np.isfinite(array)].flat[0]
        raise error(f"{name} must be finite everywhere, got {bad}")
    if array.size and np.abs(array).max() > 1 / LEAST:
        raise error(f"{name} must not exceed {1 / LEAST:g}, got {np.abs(array).max():g}: rescale the data")
    array = array.copy()
    array.setflags(write=False)
    return array


def _show(value: Any) -> str:
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write very long integers
        text = f"a number of {value.bit_length()} bits"
    return text if len(text) <= 60 else text[:57] + "..."
