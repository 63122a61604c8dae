"""Stores: score matrices in files and shards, which are read a tile at a time."""

from .opening import in_one_array as in_one_array
from .opening import open_scores as open_scores
from .opening import read_scores as read_scores
from .opening import shape_of as shape_of
from .store import Store as Store
from .store import Tile as Tile
