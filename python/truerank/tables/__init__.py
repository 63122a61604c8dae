"""Tables of results, and the forms in which they are printed and saved."""

from .table import AsTable, Column, Table

__all__ = ["AsTable", "Column", "Table"]
