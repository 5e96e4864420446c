"""Arguments of presets, checked and turned into parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from superarm import checks
from superarm.choosers import Best, Subset
from superarm.contract import Chooser, LinearWidth, Model, Oracle, Width
from superarm.models import Linear, Neural
from superarm.schedules import Constant, Radius
from superarm.widths import Auto, Diagonal, Dual, Full, Sketched

LinearWidthName = Literal["full", "diagonal", "sketched"]
NeuralWidthName = Literal["auto", "full", "dual", "sketched", "diagonal", "last-layer"]
LINEAR_WIDTHS: dict[LinearWidthName, LinearWidth] = {
    "full": Full(),
    "diagonal": Diagonal(),
    "sketched": Sketched(),
}
NEURAL_WIDTHS: dict[NeuralWidthName, Width] = {
    "auto": Auto(),
    "full": Full(),
    "dual": Dual(),
    "sketched": Sketched(),
    "diagonal": Diagonal(),
    "last-layer": Full(),
}


def linear_model(where: str, prior_scale: float, noise: float) -> Linear:
    """Return the Bayesian linear model."""
    return Linear(
        prior_scale=checks.positive(where, "prior_scale", prior_scale),
        noise=checks.positive(where, "noise", noise),
    )


def width_of(where: str, width: LinearWidthName) -> LinearWidth:
    """Return the width of that name."""
    return LINEAR_WIDTHS[checks.one_of(where, "width", width, tuple(LINEAR_WIDTHS))]


def with_width(where: str, model: Neural, width: NeuralWidthName | Width) -> tuple[Neural, Width]:
    """Return the model and the width of that name; a width of the user's is taken as it is."""
    checks.part(where, "model", model, Model)  # not a network, which it is made of
    if not isinstance(width, str):
        return model, checks.part(where, "width", width, Width)
    chosen = NEURAL_WIDTHS[checks.one_of(where, "width", width, tuple(NEURAL_WIDTHS))]
    return (replace(model, rows="last-layer") if width == "last-layer" else model), chosen


def radius_of(where: str, radius: float | Radius) -> Radius:
    """Return a schedule: the given one, or a constant."""
    if isinstance(radius, Radius):
        return radius
    return Constant(value=checks.nonnegative(where, "radius", radius))


def chosen_by(where: str, oracle: Oracle | None) -> Chooser:
    """Return the subset chooser of an oracle, or the best arm when there is none."""
    if oracle is None:
        return Best()
    return Subset(checks.part(where, "oracle", oracle, Oracle))


def refuse_beside_model(where: str, settings: Mapping[str, Any]) -> None:
    """Refuse settings of a model beside a model that has its own."""
    if named := sorted(name for name in settings if settings[name] is not None):
        raise ValueError(f"{where}: {', '.join(named)} must be left out with a model, got both")
