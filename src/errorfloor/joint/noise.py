"""Noise for many linear answers at once, each within a bound of its own, which add up as the truth does."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from errorfloor.checks import Array, whole
from errorfloor.errors import InputError
from errorfloor.floors.bounds import Floor
from errorfloor.floors.build import parsed_ranges
from errorfloor.joint.one_block import OneBlock, Rows
from errorfloor.joint.table import Margins, TableNoise
from errorfloor.joint.tree import TreeNoise
from errorfloor.noise import Certificate
from errorfloor.random import bits_from
from errorfloor.values import Value, build

MOST_SQUARE = 2000  # cells for which an n×n matrix is formed
AT_ONCE = 256  # moves that are looked at together


@dataclass(frozen=True, eq=False)
class JointNoise(Value):
    """Noise v on n cells, such that the noise T·v of every answer keeps within its bound.

    ``form`` is the law on those sums of cells that answers tell apart, and ``place`` which of them a cell belongs to
    (−1 if no answer has it); the noise of such a sum is put on its first cell.

    Guarantee: every answer keeps its bound in every draw; the Fisher information of a shift of the cells is at most
    ``information``; the same bits give the same draw on every machine. `noise.proof.md`.

    >>> from errorfloor.joint import design_joint
    >>> noise = design_joint([[1, 1], [1, 0], [0, 1]], max_error=1.0)
    >>> bool(abs(noise.sample(1000, rng=1).sum(axis=1)).max() <= 1.0)
    True
    """

    form: OneBlock | TableNoise | TreeNoise
    place: Array
    certificate: Certificate | None = field(default=None, compare=False, repr=False, kw_only=True)

    def __post_init__(self) -> None:
        self._arrays(np.int64, "place")

    @property
    def cells(self) -> int:
        """The number n of cells."""
        return int(self.place.size)

    @property
    def accepted(self) -> float:
        """The share of attempts at a block of the noise that are accepted, where it is smallest."""
        return self.form.accepted

    @property
    def repeatable(self) -> bool:
        """Draws are made of sums, products and roots of doubles in a fixed order alone."""
        return True

    @property
    def law(self) -> dict[str, Any]:
        """What decides the density, as plain JSON types."""
        return {name: value for name, value in self.to_dict().items() if name != "certificate"}

    @cached_property
    def _merged(self) -> sparse.csr_matrix:
        """The sums that answers tell apart, as rows over the cells."""
        known = np.flatnonzero(self.place >= 0)
        return sparse.csr_matrix((np.ones(known.size), (self.place[known], known)), (self.form.cells, self.cells))

    def sample(self, size: int | tuple[int, ...] = 1, rng: Any = None) -> Array:
        """Draw from the density: shape ``size`` + (n,). With ``rng`` None the bits are secure."""
        shape = tuple(size) if isinstance(size, (tuple, list)) else (size,)
        shape = tuple(whole("size", one, least=0) for one in shape)
        drawn = self.form.sample(int(np.prod(shape)), bits_from(rng))
        cells = np.zeros((len(drawn), self.cells))
        places, first = np.unique(self.place, return_index=True)
        cells[:, first[places >= 0]] = drawn
        return cells.reshape(*shape, self.cells)

    @property
    def information(self) -> Array:
        """A matrix Ī (n×n) that the Fisher information of a shift of the cells never exceeds."""
        if self.cells > MOST_SQUARE:
            raise InputError(
                f"a matrix of {self.cells} × {self.cells} numbers is too large: ask information_along(moves), or "
                f"certificate.value for the worst"
            )
        root = self.form.information_root(self._merged)
        return np.asarray(root.T @ root)

    def information_along(self, moves: Any = None) -> Array:
        """Give δᵀĪδ for each row δ of ``moves``; for a move of each cell by 1 without them."""
        if moves is None:
            if isinstance(self.form, OneBlock):
                each = (self.form.information_root(sparse.identity(self.form.cells, format="csc")) ** 2).sum(axis=0)
            else:
                each = self.form.cell_information
            return np.where(self.place >= 0, each[np.maximum(self.place, 0)], 0.0)
        given = moves_of(moves, self.cells)
        parts = [given[at : at + AT_ONCE] for at in range(0, given.shape[0], AT_ONCE)]
        roots = (self.form.information_root((self._merged @ part.T).tocsc()) for part in parts)
        return np.concatenate([np.zeros(0), *((root**2).sum(axis=0) for root in roots)])

    def floor(self, moves: Any = None, *, ranges: Any = None) -> Floor:
        """State what nobody can learn about entries that move the cells as the rows of ``moves`` do.

        Without moves it is about the most exposed cell. The noise is neither a raised cosine nor normal, so that the
        bounds are those that hold for every noise.
        """
        if moves is None:
            root = np.sqrt(self.information_along().max())[None, None]
        else:
            given = moves_of(moves, self.cells)
            if given.shape[0] > MOST_SQUARE:
                raise InputError(f"a floor is stated for at most {MOST_SQUARE} moves, got {given.shape[0]}")
            root = self.form.information_root((self._merged @ given.T).tocsc())
        low, high = parsed_ranges(ranges, root.shape[1])
        nobody = np.zeros((0, root.shape[1]))
        return Floor(root=root, exposed=np.zeros(root.shape[1], dtype=bool), known=nobody, low=low, high=high)

    def plot(self, answers: Any = None, **options: Any) -> Any:
        """Draw how far each answer's noise goes, against its bound (needs the extra ``plots``)."""
        from errorfloor import plots

        return plots.joint_noise(self, answers, **options)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> "JointNoise":
        """Rebuild a noise from its ``to_dict`` form: the same law, to the last bit."""
        kinds = (cls, OneBlock, TableNoise, TreeNoise, Rows, Margins, Certificate)
        noise = build(plain, {kind.__name__: kind for kind in kinds}, "joint noise")
        if not isinstance(noise, JointNoise):
            raise InputError(f"a joint noise is wanted, not a {type(noise).__name__}")
        return noise


def moves_of(moves: Any, cells: int) -> sparse.csr_matrix:
    """Read moves, a row each: by how much one unit moves every cell."""
    given = Rows.of(np.atleast_2d(moves) if not sparse.issparse(moves) else moves).matrix
    if given.shape[1] != cells:
        raise InputError(f"each move has a number for each of the {cells} cells, got {given.shape[1]}")
    return given
