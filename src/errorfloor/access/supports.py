"""Supports as JSON: ``{"kind": "Interval", "low": -0.5, "high": 0.5}`` and the others, in at most two dimensions."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from errorfloor import support
from errorfloor.support import Support

Number = Annotated[float, Field(allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Point = Annotated[list[Number], Field(min_length=1, max_length=2)]
Plane = Annotated[list[Number], Field(min_length=2, max_length=2)]
Square = Annotated[list[Point], Field(min_length=1, max_length=2)]
Dimension = Annotated[int, Field(ge=1, le=2)]


class Shape(BaseModel, extra="forbid"):
    """What all supports have in common."""

    def support(self) -> Support:
        """Give the support itself."""
        fields = self.model_dump(exclude={"kind"}, exclude_none=True)
        built: Support = getattr(support, self.kind)(**fields)  # type: ignore[attr-defined]
        return built


class IntervalShape(Shape):
    """Noise between two ends."""

    kind: Literal["Interval"]
    low: Number
    high: Number


class HalfLineShape(Shape):
    """Noise above ``low``, or below ``high``."""

    kind: Literal["HalfLine"]
    low: Number | None = None
    high: Number | None = None


class BoxShape(Shape):
    """Noise in a box along the axes."""

    kind: Literal["Box"]
    low: Point
    high: Point


class BallShape(Shape):
    """Noise in a ball."""

    kind: Literal["Ball"]
    dimension: Dimension
    radius: Positive
    center: Point | None = None


class EllipsoidShape(Shape):
    """Noise w with wᵀ·shape⁻¹·w at most 1."""

    kind: Literal["Ellipsoid"]
    shape: Square
    center: Point | None = None


class OrthantShape(Shape):
    """Noise that is nowhere negative."""

    kind: Literal["Orthant"]
    dimension: Dimension


class RealsShape(Shape):
    """Noise without bounds."""

    kind: Literal["Reals"]
    dimension: Dimension


class PolygonShape(Shape):
    """Noise in a polygon, convex or not."""

    kind: Literal["Polygon"]
    vertices: Annotated[list[Plane], Field(min_length=3, max_length=40)]


AnyShape = Annotated[
    IntervalShape | HalfLineShape | BoxShape | BallShape | EllipsoidShape | OrthantShape | RealsShape | PolygonShape,
    Field(discriminator="kind"),
]
AnswerShape = Annotated[IntervalShape | HalfLineShape, Field(discriminator="kind")]
