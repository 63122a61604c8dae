"""Where the documents are that queries have judgements of beside their right answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays.row_keys import codes_of, row_keys
from ..errors import InputValueError
from ..inputs.array_likes import integers
from ..inputs.checks import check_range, check_shape
from ..inputs.selection import check_indptr, indptr_of, join_ranges
from ..naming import public

if TYPE_CHECKING:
    from ..arrays.types import IntArray


@public("truerank.ranks")
class JudgedPlaces(NamedTuple):
    """The documents that are judged not to be right answers, of the query of each task.

    Attributes
    ----------
    lists : ndarray of int64, shape (n,)
        The list of each task, which is that of its query.
    indptr : ndarray of int64, shape (m + 1,)
        List i has the documents ``indptr[i]:indptr[i + 1]``.
    places : ndarray of int64, shape (3, p)
        Of each document how many candidates are above it, how many are tied with it, itself
        included, and whether its list has it.
    """

    lists: IntArray
    indptr: IntArray
    places: IntArray

    @classmethod
    def of_queries(
        cls, query: IntArray, query_of_document: IntArray, places: IntArray
    ) -> JudgedPlaces:
        """Make the lists of the queries of some tasks; those of other queries are left out.

        Examples
        --------
        >>> places = np.array([[2, 0], [1, 1], [1, 1]])
        >>> JudgedPlaces.of_queries(np.array([7, 7, 9]), np.array([7, 7]), places).indptr
        array([0, 2, 2])
        """
        order = np.lexsort((places[0], query_of_document))
        ordered = query_of_document[order]
        used, lists = codes_of(query)
        starts = np.searchsorted(ordered, used, "left")
        lengths = np.searchsorted(ordered, used, "right") - starts
        return cls(lists, indptr_of(lengths), places[:, order[join_ranges(starts, lengths)]])

    def checked(self, length: int) -> JudgedPlaces:
        """Check arrays of `length` tasks.

        Raises
        ------
        TypeError, ValueError
            For arrays that are no such lists.
        """
        of_tasks = integers("judged.lists", self.lists, length=length)
        starts = integers("judged.indptr", self.indptr)
        numbers: IntArray = integers("judged.places", self.places.ravel()).reshape(
            self.places.shape
        )
        expected = "three numbers for each document"
        check_shape("judged.places", numbers.shape, (3, numbers.size // 3), expected)
        check_indptr("judged.indptr", starts, max(len(starts) - 1, 0), numbers.shape[1])
        check_range("judged.lists", of_tasks, len(starts) - 1, "lists of judged documents")
        if (numbers < [[0], [1], [0]]).any() or (numbers[2] > 1).any():
            expected = "numbers above and in the tie, and 0 or 1"
            raise InputValueError("judged.places", expected=expected)
        return JudgedPlaces(of_tasks, starts, numbers)

    @classmethod
    def joined(cls, parts: Sequence[JudgedPlaces]) -> JudgedPlaces:
        """Join the lists of several tasks.

        Examples
        --------
        >>> one = JudgedPlaces(np.array([0]), np.array([0, 1]), np.array([[4], [1], [1]]))
        >>> JudgedPlaces.joined([one, one]).lists, JudgedPlaces.joined([one, one]).indptr
        (array([0, 0]), array([0, 1]))
        """
        # Slices of one whole share its places.
        if all(part.places is parts[0].places for part in parts):
            return parts[0]._replace(lists=np.concatenate([part.lists for part in parts]))
        numbers = [len(part.indptr) - 1 for part in parts]
        starts = indptr_of(numbers)
        lists = [part.lists + start for part, start in zip(parts, starts, strict=False)]
        lengths = np.concatenate([np.diff(part.indptr) for part in parts])
        places = np.concatenate([part.places for part in parts], axis=1)
        return cls(np.concatenate(lists), indptr_of(lengths), places)

    def of_tasks(self, where: Any) -> JudgedPlaces:
        """Return the lists of some tasks."""
        return self._replace(lists=self.lists[where])

    def documents(self, tasks: IntArray) -> tuple[IntArray, IntArray]:
        """Return the documents of the queries of some tasks.

        Returns
        -------
        task : ndarray of int64, shape (k,)
            For each document the position of its query in `tasks`.
        places : ndarray of int64, shape (3, k)

        Examples
        --------
        >>> one = JudgedPlaces(np.array([0]), np.array([0, 1]), np.array([[4], [1], [1]]))
        >>> one.documents(np.array([0, 0]))[1]
        array([[4, 4],
               [1, 1],
               [1, 1]])
        """
        chosen = self.lists[tasks]
        lengths = np.diff(self.indptr)[chosen]
        where = join_ranges(self.indptr[chosen], lengths)
        return np.repeat(np.arange(len(chosen)), lengths), self.places[:, where]

    def counts(self, above: IntArray) -> IntArray:
        """Count the documents above each task, those in its tie, and all of its query.

        Parameters
        ----------
        above : ndarray of int64, shape (n,)
            How many candidates are above the target of each task.

        Returns
        -------
        ndarray of int64, shape (3, n)

        Examples
        --------
        >>> places = np.array([[0, 4], [1, 1], [1, 1]])
        >>> JudgedPlaces(np.array([0, 0]), np.array([0, 2]), places).counts(np.array([2, 4])).T
        array([[1, 0, 2],
               [1, 1, 2]])
        """
        lengths = np.diff(self.indptr)
        list_of_document = np.repeat(np.arange(len(lengths)), lengths)
        documents = self.places.shape[1]
        columns = [np.append(list_of_document, self.lists), np.append(self.places[0], above)]
        keys = row_keys(columns)
        of_documents = np.sort(keys[:documents])
        starts = np.searchsorted(of_documents, keys[documents:], "left")
        ends = np.searchsorted(of_documents, keys[documents:], "right")
        return np.stack([starts - self.indptr[self.lists], ends - starts, lengths[self.lists]])

    def same_as(self, other: JudgedPlaces) -> bool:
        """Whether the queries of the same tasks have the same documents."""
        pairs = codes_of(self.lists, other.lists).first()  # Each two lists are compared once.
        one = self.documents(pairs)
        two = other.documents(pairs)
        return all(map(np.array_equal, one, two))
