"""Stores: score matrices in files, shards and chunks, which are read a tile at a time."""

from .opening import array_of as array_of
from .opening import is_stored as is_stored
from .opening import open_scores as open_scores
from .opening import read_scores as read_scores
from .opening import scores_or_store as scores_or_store
from .opening import shape_of as shape_of
from .opening import store_of as store_of
from .store import FileBlock as FileBlock
from .store import Store as Store
from .store import Tile as Tile
