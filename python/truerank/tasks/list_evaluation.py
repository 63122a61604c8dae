"""Lists of the top candidates of one side of a task: opened, chosen by their queries, ranked."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import Selection
from ..arrays.row_keys import are_among, distinct_rows, factorize, without
from ..counting.job import Job
from ..counting.lists import REPEATS, CandidateLists, TopK, as_lists, rank_checked_lists
from ..errors import InputTypeError, InputValueError, argument_names, warn_user
from ..inputs.array_likes import as_scores
from ..inputs.checks import choice
from ..inputs.selection import find_entries, is_in, join_ranges, lengths_to_indptr
from ..naming import format_count, show_unicode_form
from ..ranks.container import check_number
from ..records.columns import first_names
from ..records.lists import DUPLICATES, Lists, read_lists
from ..reporting import Finding
from .side import core_selection, widen_to_tasks

if TYPE_CHECKING:
    from ..arrays import IntArray
    from ..inputs.rules import Rules
    from ..ranks.container import Ranks
    from ..records.vocabularies import Vocabulary
    from .side import Side


_LEAST_PAIRS = 20  # of lists of two, whose scores may rise by chance
_LEAST_ENTRIES = 500  # of lists that are looked at for other names of what they miss


def open_lists(
    argument: str, value: Any, roles: Mapping[str, str], rules: Rules, reading: Mapping[str, Any]
) -> Lists | CandidateLists:
    """Read lists by key, with what `read_lists` takes for it; those of a TopK are in rows."""
    if reading["columns"] is not None and isinstance(value, (Mapping, TopK)):
        expected = f"None, as a {type(value).__name__} has no columns to name"
        raise InputTypeError("columns", expected=expected)
    is_once = choice("duplicates", reading["duplicates"], DUPLICATES) == "first"
    if not isinstance(value, TopK):
        return read_lists(argument, value, rules=rules, roles=roles, **reading)
    with argument_names(ids=argument):  # The ids of a TopK are positions.
        lists = as_lists(value.ids, value.scores, rules.dtype)
    if is_once:
        return lists.once(rules)
    return lists._replace(remedies=(REPEATS,))


def choose_lists(
    named: Lists, rows: IntArray, align_names: Callable[[Any], IntArray], dtype: Any
) -> CandidateLists:
    """Return the lists at some rows, with ids for names; row ``len(named)`` is an empty list.

    `align_names` returns the ids of names: only those that these lists have need one.
    """
    bounds = np.append(named.indptr, named.indptr[-1])  # The empty list ends where it begins.
    lengths, entries = find_entries(bounds, rows)
    name_numbers = named.ids[entries]
    used_numbers = np.flatnonzero(np.bincount(name_numbers))
    used_names = named.names
    if len(used_numbers) < len(named.names):
        used_names = tuple(map(named.names.__getitem__, used_numbers.tolist()))
    id_of_number: IntArray = np.zeros(len(named.names), np.int64)
    id_of_number[used_numbers] = align_names(used_names)
    scores = None if named.scores is None else as_scores(named.scores[entries], dtype)
    return CandidateLists(
        indptr=lengths_to_indptr(lengths),
        ids=id_of_number[name_numbers],
        scores=scores,
        score_at=lambda i: named.score_at(entries[i]),
        contradiction=named.contradiction,
    )


def name_findings(
    named: Lists,
    list_of_query: IntArray,
    lists: CandidateLists,
    ranks: Ranks,
    side: Side,
    vocabulary: Vocabulary,
) -> list[Finding]:
    """Find right answers that their lists lack, but have in another writing.

    Only the first tasks are looked at, whose lists are a small part of all entries. `lists` are
    those of the queries, with ids for names; `list_of_query` says which of the `named` ones each
    query has, where ``len(named)`` is none.
    """
    if ranks.listed is None or ranks.listed.all():
        return []
    lengths = np.diff(lists.indptr)[side.rows]
    most_entries = _LEAST_ENTRIES + len(named.ids) // 16
    n_tasks = int(np.searchsorted(np.cumsum(lengths), most_entries)) + 1
    queries, targets, lengths = side.rows[:n_tasks], side.targets[:n_tasks], lengths[:n_tasks]
    ids = lists.ids[join_ranges(lists.indptr[queries], lengths)]
    task_of_entry = np.repeat(np.arange(len(queries)), lengths)
    has_answer = np.zeros(len(queries), dtype=bool)
    has_answer[task_of_entry[ids == targets[task_of_entry]]] = True

    list_numbers = list_of_query[queries[~has_answer]].tolist()
    missed_answers = map(str, vocabulary.list_labels(targets[~has_answer]))
    n_lists = len(named.queries)
    pairs = []
    for i, answer in zip(list_numbers, missed_answers, strict=True):
        if i < n_lists:
            name_numbers = named.ids[named.indptr[i] : named.indptr[i + 1]].tolist()
            alike = _find_other_writing(answer, [str(named.names[j]) for j in name_numbers])
            if alike:
                pair = f"{', '.join(map(repr, alike))} for {answer!r}"
                pairs.append(show_unicode_form(pair))
    if not pairs:
        return []
    words = f"{len(pairs):,} of the first {len(queries):,} right answers differ from listed names "
    words += f"only in blanks, Unicode form or leading zeros: {', '.join(pairs[:3])}"
    return [Finding("names", len(pairs), words)]


def _find_other_writing(answer: str, names: Sequence[str]) -> list[str]:
    """Return the name that differs only in writing, or the names that are the answer's words.

    Examples
    --------
    >>> _find_other_writing("Doc 07", ["a", "Doc07"]), _find_other_writing("x y", ["y", "x"])
    (['Doc07'], ['x', 'y'])
    """
    plain_answer = _plain_text([answer]).lstrip("0")
    plain_text = _plain_text([*names, ""])  # A "\0" ends each name.
    if f"{plain_answer}\0" in plain_text:  # This test is far faster than the next.
        plain_names = [name.lstrip("0") for name in plain_text.split("\0")[:-1]]
        if plain_answer in plain_names:
            return [names[plain_names.index(plain_answer)]]
    words_of_answer = answer.split()
    if " " in answer and set(words_of_answer) <= set(names):
        return words_of_answer
    return []


def _plain_text(names: Iterable[str]) -> str:
    """Join names, without blanks and what Unicode writes in several ways.

    Examples
    --------
    >>> _plain_text(["Doc 1", "\uff21"]).split(chr(0))
    ['Doc1', 'A']
    """
    return "".join(unicodedata.normalize("NFKC", "\0".join(names)).split())


def report_missing_lists(
    argument: str, n_queries: int, missing: Sequence[Any], unused: Sequence[Any]
) -> list[Finding]:
    """Warn of queries without a list; return these, and lists of other queries, as findings.

    The warning names the lists of other queries whose names look like theirs.
    """
    findings = []
    if missing:
        text = (
            f"{len(missing):,} of {n_queries:,} queries with right answers have no list "
            f"({first_names(missing)}), and count like empty lists"
        )
        unused_by_text = {_plain_text([str(name)]): name for name in unused}
        pairs = []
        for name in missing:
            text_of_name = _plain_text([str(name)])
            if text_of_name in unused_by_text:
                pairs.append(f"{unused_by_text[text_of_name]!r} for {name!r}")
        if pairs:
            text += "; there are lists of names that differ only in blanks or Unicode form: "
            text += ", ".join(pairs[:3])
        warn_user(argument, text)
        words = f"{format_count(len(missing), 'query')} with right answers without a list"
        words += f", as {first_names(missing)}"
        findings.append(Finding("missing lists", len(missing), words))
    if unused:
        words = f"{format_count(len(unused), 'list')} of queries without right answers"
        findings.append(Finding("unused lists", len(unused), f"{words}, as {first_names(unused)}"))
    return findings


def reading_findings(
    argument: str, named: Lists, vocabularies: Sequence[Vocabulary]
) -> list[Finding]:
    """Find rows of several lists, and names of another writing than those of the task.

    The vocabularies are those of keys, and then that of what is listed.
    """
    parts = [("pooled lists", len(named), named.pooled)] if named.pooled else []
    keys: Any = [named.queries] if len(vocabularies) == 2 else zip(*named.queries, strict=True)
    for vocabulary, names in zip(vocabularies, [*keys, named.names], strict=False):
        parts += vocabulary.find_other_spellings(argument, names, is_text=bool(named.path))
    return [Finding(*each) for each in parts]


def order_findings(given: Any, lists: CandidateLists, rules: Rules) -> list[Finding]:
    """Find lists of two whose scores rise in nearly all; the order of a mapping means nothing."""
    is_unordered = isinstance(given, Mapping) and not isinstance(given, Lists)
    first = lists.indptr[:-1][np.diff(lists.indptr) == 2]
    if lists.scores is None or is_unordered or rules.is_order_named or len(first) < _LEAST_PAIRS:
        return []
    keys, *_ = lists.scores.keys()
    n_rising = int(np.count_nonzero(keys[first + 1] > keys[first]))
    words = f"scores rise in {n_rising:,} of {len(first):,} lists of two, as distances do"
    return [Finding("rising lists", n_rising, words)] if n_rising >= 0.95 * len(first) else []


def rank_side_lists(
    lists: CandidateLists,
    rows: IntArray,
    side: Side,
    vocabulary: Vocabulary,
    rules: Rules,
    *,
    are_listed: bool,
    files: tuple[str, ...],
) -> Ranks:
    """Rank the tasks of a side, each by the list in its row, among their candidates.

    With `are_listed` the candidates of a task are those that its list has. `files` have the lists.
    Where nobody said how many candidates there are, the ranks have 0.
    """
    left_out = core_selection(side.filter)
    sizes = None
    if side.candidates is not None and not are_listed:
        left_out, sizes = candidates_of_lists(lists, rows, side, vocabulary)
    ranks = rank_checked_lists(
        lists,
        Job(rows, side.targets, left_out, rules=rules),
        side.n_candidates,
        sizes=sizes,
        are_listed_alone=are_listed,
        files=files,
    )
    if vocabulary.has_size or are_listed or sizes is not None:
        return ranks
    listed: Any = ranks.listed
    lengths: Any = ranks.lengths
    is_behind_its_list = listed & (ranks.above >= lengths)  # A NaN that is the worst is the last.
    are_ranks_known = not is_behind_its_list.any()
    check_number(are_ranks_known, "nan", "the rank of a right answer whose score is NaN")
    tied = np.where(listed, ranks.tied, 0)
    return ranks._with({"candidates": np.zeros_like(tied), "tied": tied})


def candidates_of_lists(
    lists: CandidateLists, rows: IntArray, side: Side, vocabulary: Vocabulary
) -> tuple[Selection, IntArray]:
    """Split what is listed into candidates and others, without a loop over queries.

    `rows` has the list of each task, and the side candidates of its own, ascending and distinct.
    Returned are what is left out of the lists, the filter and what is listed and no candidate, and
    for each task the number of candidates that the filter leaves, its target included. An entity
    that is no candidate of its query is refused, unless it is filtered or a right answer.
    """
    size = side.n_candidates
    filters = _as_selection(side.filter, len(side))
    pools = _as_selection(side.candidates, len(side))
    # Tasks often share their case: a list, candidates, a filter and a query.
    cases = factorize(rows, pools.lists, filters.lists, side.rows)
    tasks = cases.first()  # one for each case

    # Ids out of range are refused where they are ranked.
    case, places = _places(lists.indptr, rows[tasks])
    is_within = (lists.ids[places] >= 0) & (lists.ids[places] < size)
    case, places = case[is_within], places[is_within]
    ids = lists.ids[places].astype(np.int64)
    is_other = ~is_in(pools, tasks[case], ids) & ~is_in(filters, tasks[case], ids)
    if is_other.any():
        _refuse_foreign_ids(lists, places, is_other, side, tasks[case], vocabulary)

    # What is filtered, and what is listed and no candidate, are left out of the lists.
    filter_case, places = _places(filters.indptr, filters.lists[tasks])
    filter_ids = filters.indices[places].astype(np.int64)
    filter_case, filter_ids = distinct_rows([filter_case, filter_ids])
    left_out_case, left_out_ids = distinct_rows(
        [np.append(filter_case, case[is_other]), np.append(filter_ids, ids[is_other])]
    )
    left_out_lengths = np.bincount(left_out_case, minlength=len(tasks))
    left_out = Selection(lengths_to_indptr(left_out_lengths), left_out_ids, cases.codes)
    # A filtered target is a candidate all the same.
    sizes = np.diff(pools.indptr)[pools.lists[tasks]]
    is_candidate = is_in(pools, tasks[filter_case], filter_ids)
    sizes -= np.bincount(filter_case[is_candidate], minlength=len(tasks))
    return left_out, sizes[cases.codes] + is_in(filters, np.arange(len(side)), side.targets)


def _as_selection(selection: Any, tasks: int) -> Any:
    """Return a selection as the core's, with a list for each task also where all share one."""
    lists = np.zeros(0, dtype=np.int64) if selection is None else selection
    return Selection(*widen_to_tasks(lists, tasks))


def _places(indptr: IntArray, chosen: IntArray) -> tuple[IntArray, IntArray]:
    """Return the entries of chosen lists: the number of each one's choice, and its place."""
    lengths, places = find_entries(indptr, chosen)
    return np.repeat(np.arange(len(chosen)), lengths), places


def _refuse_foreign_ids(
    lists: CandidateLists,
    places: IntArray,
    is_other: Any,
    side: Side,
    tasks: IntArray,
    vocabulary: Vocabulary,
) -> None:
    """Refuse an id that is neither a candidate nor a right answer of any task that reads its list.

    `places`, `is_other` and `tasks` have an element for each id that a task reads: where it stands
    in the ids of all lists, whether it is no candidate of the task, and the task.
    """
    answers = side.rows * side.n_candidates + side.targets
    ids = lists.ids[places].astype(np.int64)
    is_right = are_among(side.rows[tasks] * side.n_candidates + ids, answers)
    is_foreign = is_other & ~is_right
    foreign_to_all = without(places[is_foreign], places[~is_foreign])
    if not len(foreign_to_all):
        return
    first = int(foreign_to_all.min())
    row, position = lists.place(first)
    expected = "candidates of the query of each list"
    candidate = int(lists.ids[first])
    label = vocabulary.label_of(candidate)
    name = repr(label)
    if label != candidate:
        name += f" (position {candidate})"
    got = f"{name} in list {row}, at position {position}"
    raise InputValueError("ids", expected=expected, got=got)
