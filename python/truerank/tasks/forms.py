"""Forms: what the rows of a split are, so that one reader serves triples and pairs."""

from __future__ import annotations

from typing import NamedTuple


class Form(NamedTuple):
    """What a row holds, and what messages call it.

    Attributes
    ----------
    what : str
        One row: "triple", "pair".
    columns : tuple of str
        The columns that every row has.
    vocabularies : tuple of int
        The column whose labels each of them shares: (0, 1, 0) for heads, relations and tails.
    further : bool
        Whether more columns may follow; each has labels of its own.
    """

    what: str
    columns: tuple[str, ...]
    vocabularies: tuple[int, ...]
    further: bool = False

    @property
    def width(self) -> int:
        """How many columns every row has."""
        return len(self.columns)

    @property
    def listed(self) -> str:
        """The columns between parentheses, as tuples are written."""
        return f"({', '.join(self.columns)})"

    @property
    def needed(self) -> str:
        """How many columns there must be, in words.

        Examples
        --------
        >>> Form("pair", ("left", "right"), (0, 1)).needed
        '2'
        >>> Form("triple", ("head", "relation", "tail"), (0, 1, 0), further=True).needed
        'at least 3'
        """
        return f"at least {self.width}" if self.further else str(self.width)

    @property
    def spelled(self) -> str:
        """The columns as a sentence has them.

        Examples
        --------
        >>> Form("triple", ("head", "relation", "tail"), (0, 1, 0)).spelled
        'head, relation and tail'
        """
        *first, last = self.columns
        return f"{', '.join(first)} and {last}" if first else last

    def fits(self, width: int) -> bool:
        """Whether rows may have so many columns."""
        return width >= self.width if self.further else width == self.width

    def vocabulary(self, column: int) -> int:
        """The column whose labels this one shares."""
        return self.vocabularies[column] if column < self.width else column
