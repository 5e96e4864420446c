"""Presets: named algorithms as fixed choices of model, width, explorer and chooser."""

from typing import TYPE_CHECKING

from superarm import checks
from superarm.policies.bae2026 import *
from superarm.policies.bae2026_theory import *
from superarm.policies.baselines import *
from superarm.policies.duels import *
from superarm.policies.hwang2023 import *
from superarm.policies.hwang2023_doubling import *
from superarm.policies.layered_duels import *
from superarm.policies.linear import *
from superarm.policies.logistic import *
from superarm.policies.neural_arms import *
from superarm.policies.neural_log_duels import *
from superarm.policies.oh2026 import *
from superarm.policies.sun2026 import *
from superarm.policies.sun2026_anytime import *
from superarm.policies.sun2026_theory import *
from superarm.policies.warm_ups import *
from superarm.policies.wen2015 import *
from superarm.pytree import exported

if not TYPE_CHECKING:  # a list that a type checker cannot read would hide all names from it
    __all__ = [*exported(__name__, globals())]

checks.public(__name__)
