"""Oracles: one file per structure. Each states whether it is exact, or its approximation factor."""

from typing import TYPE_CHECKING

from superarm import checks
from superarm.choosers.oracles.assortments import *
from superarm.choosers.oracles.dag_paths import *
from superarm.choosers.oracles.functions import *
from superarm.choosers.oracles.grid_paths import *
from superarm.choosers.oracles.integer_programs import *
from superarm.choosers.oracles.knapsacks import *
from superarm.choosers.oracles.matchings import *
from superarm.choosers.oracles.quotas import *
from superarm.choosers.oracles.spanning_trees import *
from superarm.choosers.oracles.top_items import *
from superarm.pytree import exported

if not TYPE_CHECKING:  # a list that a type checker cannot read would hide all names from it
    __all__ = [*exported(__name__, globals())]

checks.public(__name__)
