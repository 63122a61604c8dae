"""The exact top k of every query for the retrieval tasks of MTEB, and which of them tie.

It needs MTEB 2: ``pip install '.[mteb]'`` in the checkout.
"""

from __future__ import annotations

import warnings
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import InputTypeError, InputValueError, topk_embeddings
from . import import_extra

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

wrappers: Any = import_extra("mteb.models.search_wrappers", "truerank.adapters.mteb")
torch: Any = import_extra("torch", "truerank.adapters.mteb", "mteb")

__all__ = ["ExactSearchEncoder", "ExactSearchIndex"]

# The values are our similarities, by the names of MTEB's `ScoringFunction`.
SIMILARITIES = {"cosine": "cosine", "dot": "dot", "euclidean": "l2", "manhattan": "l1"}
SIMILARITIES |= {"MaxSim": "maxsim"}


class ExactSearchIndex:
    """An `index_backend` of MTEB's `SearchEncoderWrapper`, like `FaissSearchIndex`.

    Documents are scored by `truerank.topk_embeddings`: in blocks, so that no matrix of scores is
    stored, each pair by one sum in one order, so that equal documents have equal scores. Those with
    equal scores are in the order in which they were added.

    Parameters
    ----------
    model : EncoderProtocol
        What the wrapper wraps; its ``mteb_model_meta.similarity_fn_name`` says how documents are
        scored: cosine, dot, euclidean, manhattan or MaxSim.
    nan, dtype, threads, progress : optional
        As in `truerank.topk_embeddings`.

    Attributes
    ----------
    tied : ndarray of bool, shape (queries,)
        For the last search: whether two of a query's k documents, or its last one and the next that
        is left out, have equal scores. Another order of these may give other metrics.

    Raises
    ------
    ValueError
        For a model with another similarity, or none.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> meta = SimpleNamespace(similarity_fn_name="dot")
    >>> index = ExactSearchIndex(SimpleNamespace(mteb_model_meta=meta))
    >>> index.add_documents(np.array([[1.0, 0], [0, 1], [1, 1], [1, 0]]), ["a", "b", "c", "d"])
    >>> index.search(np.array([[1.0, 2], [3, 1]]), 2)
    ([[3.0, 2.0], [4.0, 3.0]], [[2, 1], [2, 0]])
    >>> index.tied  # documents a and d are the same
    array([False,  True])
    """

    tied: npt.NDArray[np.bool_]

    def __init__(
        self,
        model: Any,
        *,
        nan: str = "raise",
        dtype: Any = None,
        threads: int | None = None,
        progress: Any = None,
    ) -> None:
        name = model.mteb_model_meta.similarity_fn_name
        if name not in SIMILARITIES:
            expected = f"a model whose similarity is one of {', '.join(SIMILARITIES)}"
            raise InputValueError("model", expected=expected, got=str(name))
        rules: Any = {"nan": nan, "threads": threads}
        topk_embeddings(np.zeros((0, 1)), np.zeros((1, 1)), 1, **rules)  # refuses wrong ones
        self.options: dict[str, Any] = {"similarity": SIMILARITIES[name], **rules}
        self.options |= {"dtype": dtype, "progress": progress}
        self.tied = np.zeros(0, np.bool_)
        self.clear()

    def clear(self) -> None:
        """Forget all documents, as the wrapper asks for after each search."""
        self.documents: Any = None
        self.names: list[str] = []
        self.lengths: list[int] = []  # How many vectors each document has.

    def add_documents(self, embeddings: Any, idxs: Sequence[str]) -> None:
        """Add documents.

        Parameters
        ----------
        embeddings : array or tensor, shape (n, d)
            With MaxSim: a list of n arrays or tensors, (tokens, d).
        idxs : sequence of str, length n
            Their names.

        Raises
        ------
        TypeError
            With MaxSim, for one tensor: its zeros, where a document ends, would be tokens.

        Warns
        -----
        UserWarning
            With MaxSim, for documents without tokens, which score -inf.
        """
        lengths = [1] * len(idxs)
        if self.options["similarity"] == "maxsim":
            embeddings, lengths = join_tokens(embeddings)
        if 0 in lengths:
            which = f"{lengths.count(0):,} of {len(lengths):,} documents"
            which += f", first {idxs[lengths.index(0)]!r}"
            warnings.warn(f"corpus: {which}, have no tokens, and score -inf", stacklevel=2)
        self.lengths += lengths
        if self.documents is not None:
            before = torch.as_tensor(self.documents)
            embeddings = torch.cat([before, torch.as_tensor(embeddings)])
        self.documents = embeddings
        self.names += idxs[:]  # The slice reads a column of a data set at once.

    def search(
        self,
        embeddings: Any,
        top_k: int,
        similarity_fn: Callable[[Any, Any], Any] | None = None,
        top_ranked: Mapping[str, Sequence[str]] | None = None,
        query_idx_to_id: Mapping[int, str] | None = None,
    ) -> tuple[list[list[float]], list[list[int]]]:
        """Return the scores and the indices of the k most similar documents of each query.

        Parameters
        ----------
        embeddings : array or tensor, shape (q, d)
            The embeddings of the queries; with MaxSim as in `add_documents`.
        top_k : int
        similarity_fn : callable
            Not used: `model` has said which it is.
        top_ranked : mapping of str to names of documents, optional
            The only candidates of each query, in tasks of reranking; indices are then those of this
            list.
        query_idx_to_id : mapping of int to str, optional
            The names of the queries, where there is `top_ranked`.

        Raises
        ------
        TypeError, ValueError
            As `truerank.topk_embeddings` does, and if no documents were added.
        """
        if self.documents is None:
            raise InputValueError("embeddings", expected="documents, added before", got="none")
        candidates: list[list[int]] | None = None
        if top_ranked is not None and query_idx_to_id is not None:
            number_by_name = {name: i for i, name in enumerate(self.names)}
            candidates = []
            for i in range(len(embeddings)):
                names = top_ranked.get(query_idx_to_id[i], ())
                candidates.append([number_by_name[name] for name in names])
        # Documents without tokens are not searched; they follow the others in each list.
        has_tokens = np.array(self.lengths) > 0
        without_tokens = np.flatnonzero(~has_tokens).tolist()
        width = min(top_k, len(self.names))
        top = self._search_tokens(embeddings, candidates, has_tokens, width + 1)
        searched = np.flatnonzero(has_tokens)
        self.tied = (top.scores[:, 1:] == top.scores[:, :-1]).any(axis=1)
        sizes = (top.ids >= 0).sum(axis=1)  # A query may have fewer candidates.
        scores: list[list[float]] = []
        indices: list[list[int]] = []
        for row, size in enumerate(sizes.tolist()):
            last = without_tokens
            if candidates is not None:
                last = [i for i in candidates[row] if not has_tokens[i]]
            n_last_shown = min(len(last), width + 1 - size)
            self.tied[row] |= n_last_shown > 1
            scores.append([*top.scores[row, :size].tolist(), *[-np.inf] * len(last)][:width])
            documents = [*searched[top.ids[row, :size]].tolist(), *last][:width]
            if candidates is not None:
                place_of = {document: place for place, document in enumerate(candidates[row])}
                documents = [place_of[document] for document in documents]
            indices.append(documents)
        return scores, indices

    def _search_tokens(
        self,
        embeddings: Any,
        candidates: list[list[int]] | None,
        has_tokens: npt.NDArray[np.bool_],
        k: int,
    ) -> Any:
        """Return the first k documents of each query by their numbers among those with tokens."""
        if candidates is not None and not has_tokens.all():
            new_numbers = np.cumsum(has_tokens) - 1
            candidates = [[new_numbers[i] for i in ids if has_tokens[i]] for ids in candidates]
        documents = self.documents
        if self.options["similarity"] == "maxsim":
            tokens, lengths = join_tokens(embeddings)
            embeddings = (tokens, np.cumsum([0, *lengths]))
            documents = (documents, np.cumsum([0, *filter(None, self.lengths)]))
        return topk_embeddings(embeddings, documents, k, candidates=candidates, **self.options)


def join_tokens(embeddings: Any) -> tuple[Any, list[int]]:
    """Return the vectors of lists of tokens end to end, and how many each list has."""
    if not isinstance(embeddings, list):
        expected = "a list of arrays (tokens, d) with MaxSim, as MTEB's MultiVectorWrapper gives"
        got = f"{type(embeddings).__name__} of shape {tuple(embeddings.shape)}"
        raise InputTypeError("embeddings", expected=expected, got=got)
    vectors = torch.cat([torch.as_tensor(tokens) for tokens in embeddings])
    return vectors, [len(tokens) for tokens in embeddings]


class ExactSearchEncoder(wrappers.SearchEncoderWrapper):
    """A model whose retrieval tasks MTEB searches by an `ExactSearchIndex`.

    It is ``SearchEncoderWrapper(model, index_backend=ExactSearchIndex(model))``, and reads the
    names of documents once: with an index, that of MTEB 2.26 reads one from the data set for each
    document of each list, which takes longer than the search.

    Parameters
    ----------
    model : EncoderProtocol
        As `mteb.get_model` returns it; a `SentenceTransformer` in MTEB's
        `SentenceTransformerEncoderWrapper`, a `MultiVectorEncoder` in its `MultiVectorWrapper`.
    nan, dtype, threads, progress : optional
        As in `truerank.topk_embeddings`.

    Attributes
    ----------
    index_backend : ExactSearchIndex

    Raises
    ------
    ValueError
        As `ExactSearchIndex` does.
    """

    def __init__(self, model: Any, **options: Any) -> None:
        super().__init__(model, index_backend=ExactSearchIndex(model, **options))
        if not hasattr(model, "encode"):
            # Models with a vector for each token search by themselves, and hide how they encode.
            encode = getattr(model, "_encode", None)
            if encode is None:
                got = f"{type(model).__name__}, which does not give its embeddings"
                raise InputTypeError("model", expected="a model with `encode`", got=got)
            self.model = SimpleNamespace(encode=encode, similarity=None)

    def index(self, corpus: Any, **options: Any) -> None:
        """Encode the documents of a task, and keep their names."""
        super().index(corpus, **options)
        self.task_corpus = {"id": self.index_backend.names}
