"""Models: what score does a feature vector have?"""

from superarm.models.factory import neural
from superarm.models.fitting import Fitting
from superarm.models.history import Memory
from superarm.models.items import ItemBetas, ItemMeans
from superarm.models.linear import Linear
from superarm.models.networks import network, perceptron
from superarm.models.neural import Neural

__all__ = [
    "Fitting",
    "ItemBetas",
    "ItemMeans",
    "Linear",
    "Memory",
    "Neural",
    "network",
    "neural",
    "perceptron",
]
