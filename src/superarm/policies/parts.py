"""Arguments of presets, checked and turned into parts."""

from __future__ import annotations

from superarm import checks
from superarm.choosers import Best, Subset
from superarm.models import Linear
from superarm.types import Chooser, LinearWidth, Oracle
from superarm.widths import Constant, Diagonal, Full, Radius, Sketched


def linear_model(where: str, prior_scale: float, noise: float) -> Linear:
    """Return the Bayesian linear model."""
    return Linear(
        prior_scale=checks.positive(where, "prior_scale", prior_scale),
        noise=checks.positive(where, "noise", noise),
    )


def width_of(where: str, width: str) -> LinearWidth:
    """Return the width of that name."""
    named: dict[str, LinearWidth] = {"full": Full(), "diagonal": Diagonal(), "sketched": Sketched()}
    return named[checks.one_of(where, "width", width, tuple(named))]


def radius_of(where: str, radius: float | Radius) -> Radius:
    """Return a schedule: the given one, or a constant."""
    if hasattr(radius, "at"):
        return radius
    return Constant(value=checks.nonnegative(where, "radius", radius))


def chosen_by(where: str, oracle: Oracle | None) -> Chooser:
    """Return the subset chooser of an oracle, or the best arm when there is none."""
    if oracle is None:
        return Best()
    return Subset(checks.has(where, "oracle", oracle, ("native", "size", "factor", "check", "solve")))
