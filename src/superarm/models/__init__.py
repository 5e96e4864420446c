"""Models: what score does a feature vector have?"""

from superarm import checks
from superarm.models.coefficients import Coefficients
from superarm.models.custom import network
from superarm.models.ensemble import Ensemble
from superarm.models.factory import glm
from superarm.models.fitting import Fitting
from superarm.models.history import Memory
from superarm.models.items import ItemBetas, ItemMeans
from superarm.models.layered import Layered
from superarm.models.linear import Linear
from superarm.models.links import LINKS, Link
from superarm.models.networks import perceptron
from superarm.models.neural import EffectiveDimension, Neural
from superarm.models.one_pass import OnePassLogistic
from superarm.models.paired import Paired
from superarm.models.perturbed import PerturbedHistory
from superarm.models.planned import Planned
from superarm.models.preferences import Preferences
from superarm.models.utilities import full_gradient_model, shallow_model

__all__ = [
    "LINKS",
    "Coefficients",
    "EffectiveDimension",
    "Ensemble",
    "Fitting",
    "ItemBetas",
    "ItemMeans",
    "Layered",
    "Linear",
    "Link",
    "Memory",
    "Neural",
    "OnePassLogistic",
    "Paired",
    "PerturbedHistory",
    "Planned",
    "Preferences",
    "full_gradient_model",
    "glm",
    "network",
    "perceptron",
    "shallow_model",
]

checks.public(__name__)
