"""Environments: worlds to learn in, with known optima."""

from typing import TYPE_CHECKING

from superarm import checks
from superarm.environments.answers import *
from superarm.environments.approximate import *
from superarm.environments.arm_sets import *
from superarm.environments.catalogues import *
from superarm.environments.choices import *
from superarm.environments.click_models import *
from superarm.environments.duels_of_classes import *
from superarm.environments.duels_of_matrices import *
from superarm.environments.duels_of_utilities import *
from superarm.environments.labels import *
from superarm.environments.linear import *
from superarm.environments.logistic import *
from superarm.environments.paths import *
from superarm.environments.score_tables import *
from superarm.environments.scores import *
from superarm.environments.streams import *
from superarm.pytree import exported

if not TYPE_CHECKING:  # a list that a type checker cannot read would hide all names from it
    __all__ = [*exported(__name__, globals())]

checks.public(__name__)
