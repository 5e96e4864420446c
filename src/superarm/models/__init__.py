"""Models: what score does a feature vector have?"""

from superarm.models.items import ItemBetas, ItemMeans
from superarm.models.linear import Linear

__all__ = ["ItemBetas", "ItemMeans", "Linear"]
