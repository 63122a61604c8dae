"""Options that travel: how scores are compared, by how many threads, and who is told of progress.

The words that options take are types here, from which their checks are made.

A public function takes them as ``**options: Unpack[RuleOptions]``, or a TypedDict with some of
them, and `with_options` shows each with its default in `help` and `inspect.signature`. Within the
package they are one `Rules`, which `read_rules` checks where they come in.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, get_args

from .. import _core
from ..errors import InputTypeError
from .checks import called_here, choice, flag, integer

if TYPE_CHECKING:
    from .progress_listeners import Progress

ScoreOrder = Literal["descending", "ascending"]
NanRule = Literal["raise", "worst", "omit"]
IoMode = Literal["map", "read"]
AnswerOrder = Literal["expected", "optimistic", "pessimistic"]
Layout = Literal["interleaved", "halves"]
VectorSimilarity = Literal[
    "dot", "cosine", "l1", "l2", "sql2", "complex_l1", "poincare", "inverse_l1", "inverse_l2"
]
Similarity = Literal[VectorSimilarity, "maxsim"]  # The last one is of lists of vectors.

LISTED = "listed"  # The candidates of this name are those of each list.
ORDERS: tuple[ScoreOrder, ...] = get_args(ScoreOrder)
NAN_RULES: tuple[NanRule, ...] = get_args(NanRule)
IO: tuple[IoMode, ...] = get_args(IoMode)
LAYOUTS: tuple[Layout, ...] = get_args(Layout)
REPEAT_RULES = ("refuse", "drop", "keep")  # for facts that come twice where ranks are joined

F = TypeVar("F", bound=Callable[..., Any])
_KEYWORD = inspect.Parameter.KEYWORD_ONLY
_MOST_THREADS = 1 << 20  # No machine has more, and larger numbers might not fit into 64 bits.


class CountOptions(TypedDict, total=False):
    """Options of every function that counts or compares many scores; `Rules` describes them."""

    nan: NanRule
    dtype: Any
    threads: int | None
    progress: bool | Callable[[Progress], object] | None


class SimilarityOptions(CountOptions, total=False):
    """Options of functions that compare embeddings."""

    layout: Layout | None


class EmbeddingOptions(SimilarityOptions, total=False):
    """Options of functions that rank embeddings, whose higher similarities are always better."""

    audit: bool


class ListOptions(CountOptions, total=False):
    """Options of functions that count a part of the scores, which cannot be audited."""

    order: ScoreOrder


class RuleOptions(ListOptions, total=False):
    """All options of `rank` that other functions share."""

    audit: bool


class BatchOptions(RuleOptions, total=False):
    """Those, and the options of scoring batches of queries by a callable.

    Parameters
    ----------
    batch_size : int, optional
        The number of queries per batch. Default: as many as have about 64 MB of scores.
    device : str or torch.device, optional
        Where the callable wants its queries as a tensor of torch. Default: a numpy array.
    order, nan, dtype, threads, audit : optional
        As in `truerank.rank`.
    progress : callable or bool, optional
        Called with a `Progress` after each batch, in queries. True: a bar of tqdm.
    """

    batch_size: int | None
    device: Any


@dataclass(frozen=True)
class Rules:
    """The options of a call, checked; `dtype` and `layout` where they are read."""

    order: ScoreOrder = "descending"
    nan: NanRule = "raise"
    dtype: Any = None  # What raw 16-bit numbers are.
    threads: int | None = None  # As many as are free.
    audit: bool = False  # Whether NaN, infinities and ties with the best score count as well.
    progress: bool | Callable[[Progress], object] | None = None
    layout: Layout | None = None  # Where real vectors have the parts of complex numbers.
    is_order_named: bool = False  # Else scores that contradict the default are refused.

    def __post_init__(self) -> None:
        # They are kept as plain words and numbers of Python, which files can hold.
        keep = object.__setattr__
        keep(self, "order", choice("order", self.order, ORDERS))
        keep(self, "nan", choice("nan", self.nan, NAN_RULES))
        keep(self, "audit", flag("audit", self.audit))
        if self.layout is not None:
            choice("layout", self.layout, LAYOUTS)
        if self.threads is not None:
            keep(self, "threads", integer("threads", self.threads, least=1))

    @property
    def is_ascending(self) -> bool:
        """Whether lower scores are better."""
        return self.order == "ascending"

    @property
    def core(self) -> _core.Rules:
        """The rules as the core takes them: equal ones are one object."""
        return _core_rules(self.order == "ascending", self.nan, self.audit)

    @property
    def num_threads(self) -> int:
        """The number of threads as the core takes it; 0: as many as are free."""
        if self.threads is None:
            return 0
        return min(self.threads, _MOST_THREADS)


PLAIN = Rules()
# Making rules of the core takes longer than a small count.
_core_rules = lru_cache(maxsize=16)(_core.Rules)
_rules_of_threads = lru_cache(maxsize=16)(lambda threads: Rules(threads=threads))


def suggest(word: str, known: Iterable[str], others: Iterable[str] = ()) -> str:
    """Name the known and other words that are most similar to one, or the known ones if none is.

    >>> suggest("mmr", ["mr", "mrr", "hits@k"])
    'did you mean mr or mrr?'
    """
    import difflib

    words = list(known)
    # Names are short, and the time grows with the square of the length.
    near = difflib.get_close_matches(word[:100].lower(), {*words, *others})
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"known are {', '.join(words)}"


def read_rules(
    options: Mapping[str, Any],
    kind: type[Any] = RuleOptions,
    function: Callable[..., Any] | None = None,
) -> Rules:
    """Check the options of a call, which are those of a TypedDict.

    Parameters of the function itself are named, too, where an option is unknown.
    """
    if not options:
        return PLAIN
    if len(options) == 1 and type(options.get("threads")) is int:  # All of them have this one.
        return _rules_of_threads(options["threads"])
    for name in options:
        if name not in kind.__annotations__:
            known = list(kind.__annotations__)
            if function is not None:
                known = [each for each in inspect.signature(function).parameters if each != "self"]
            ways = called_here(name, options[name], known)
            problem = "unexpected keyword argument"
            if not ways:
                problem += f"; {suggest(name, known)}"
            raise InputTypeError(name, problem, remedies=ways)
    fields = vars(PLAIN)
    values = {name: value for name, value in options.items() if name in fields}
    return Rules(**values, is_order_named="order" in options)


def with_options(kind: type[Any], **defaults: Any) -> Callable[[F], F]:
    """Make a decorator that shows the options of a TypedDict in the signature of a function.

    What the docstring of the TypedDict says of them stands in that of the function, too,
    behind its own parameters.
    """
    every_default = vars(PLAIN) | defaults
    options = []
    for name, reference in kind.__annotations__.items():
        text = reference.__forward_arg__  # Annotations are texts here, and may name what is lazy.
        default = every_default.get(name)
        options.append(inspect.Parameter(name, _KEYWORD, default=default, annotation=text))

    _, _, description = (inspect.getdoc(kind) or "").partition("Parameters\n----------\n")

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        *parameters, _ = signature.parameters.values()  # The last one is **options.
        # A default of ... is there for a better message: the parameter is required.
        parameters = [x.replace(default=x.empty) if x.default is ... else x for x in parameters]
        decorated: Any = function
        decorated.__signature__ = signature.replace(parameters=[*parameters, *options])
        if description and function.__doc__:
            heading = "\n\nReturns\n"
            parameters_end, _, rest = inspect.cleandoc(function.__doc__).partition(heading)
            returns = f"{heading}{rest}" if rest else ""
            function.__doc__ = f"{parameters_end}\n{description}{returns}"
        return function

    return decorate
