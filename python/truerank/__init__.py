"""truerank: the rank of the true candidate among all candidates, counted exactly and fast.

`rank` counts, `report` turns counts into metrics, and `evaluate` does both. The counts are `Ranks`:
they can be sliced, joined and saved, and they answer every later question without the scores.
`compare` tests two models against each other, `table` shows several side by side, and `overlap`
counts what each of them solves. `chance`
gives the chance level by which metrics are adjusted, and `adjust` adjusts published numbers.

Scores may be in files (`open_scores`), or come in blocks of candidates (`RankCounter`), as sampled
negatives (`rank_against`) or as lists of the top candidates, which may miss the target
(`rank_lists`). `rank_embeddings` needs only vectors and stores no scores.
`link_prediction` makes a report from triples, `alignment` from pairs of entities, `retrieval` from
queries with several right answers. `plot` draws reports, and `compat` computes the numbers of other
toolkits.
"""

from __future__ import annotations

import typing as _typing

if _typing.TYPE_CHECKING:
    from . import adapters as adapters
    from . import alignment as alignment
    from . import compat as compat
    from . import inference as inference
    from . import link_prediction as link_prediction
    from . import metrics as metrics
    from . import page as page
    from . import plot as plot
    from . import retrieval as retrieval
    from ._core import __version__ as __version__
    from .counting.counter import RankCounter as RankCounter
    from .counting.lists import TopK as TopK
    from .counting.lists import rank_against as rank_against
    from .counting.lists import rank_lists as rank_lists
    from .counting.ranking import rank as rank
    from .embeddings.scoring import rank_embeddings as rank_embeddings
    from .embeddings.scoring import score_embeddings as score_embeddings
    from .embeddings.scoring import topk_embeddings as topk_embeddings
    from .errors import InputError as InputError
    from .errors import InputTypeError as InputTypeError
    from .errors import InputValueError as InputValueError
    from .errors import InputWarning as InputWarning
    from .inference import compare as compare
    from .inputs.progress_listeners import Progress as Progress
    from .metrics import chance as chance
    from .metrics.published import adjust as adjust
    from .ranks import Protocol as Protocol
    from .ranks import Ranks as Ranks
    from .ranks.joining import concatenate as concatenate
    from .ranks.storage import load as load
    from .recall import evaluate_ids as evaluate_ids
    from .recall import evaluate_topk as evaluate_topk
    from .records.lists import read_qrels as read_qrels
    from .records.lists import read_run as read_run
    from .records.lists import write_run as write_run
    from .reporting import Report as Report
    from .reporting import overlap as overlap
    from .reporting import report as report
    from .reporting import table as table
    from .stores import open_scores as open_scores
    from .tables import Table as Table
    from .tasks import evaluate as evaluate
else:  # or a type checker would accept any name
    from .naming import names_when_used as _names_when_used

    _NAMES = {
        "._core": ("__version__",),
        ".counting.counter": ("RankCounter",),
        ".counting.lists": ("TopK", "rank_against", "rank_lists"),
        ".counting.ranking": ("rank",),
        ".embeddings.scoring": ("rank_embeddings", "score_embeddings", "topk_embeddings"),
        ".inference": ("compare",),
        ".errors": ("InputError", "InputTypeError", "InputValueError", "InputWarning"),
        ".inputs.progress_listeners": ("Progress",),
        ".metrics": ("chance",),
        ".metrics.published": ("adjust",),
        ".ranks": ("Protocol", "Ranks"),
        ".ranks.joining": ("concatenate",),
        ".ranks.storage": ("load",),
        ".reporting": ("Report", "overlap", "report", "table"),
        ".stores": ("open_scores",),
        ".tables": ("Table",),
        ".tasks": ("evaluate",),
        ".recall": ("evaluate_ids", "evaluate_topk"),
        ".records.lists": ("read_qrels", "read_run", "write_run"),
    }
    _MODULES = (
        "adapters",
        "alignment",
        "compat",
        "inference",
        "link_prediction",
        "metrics",
        "page",
        "plot",
        "retrieval",
    )
    __all__, __getattr__, __dir__ = _names_when_used(__name__, _NAMES, _MODULES)

    # These are imported at once: if a process forks during an import, its child may hang. numpy
    # comes first, since the extension makes an ImportError of a Ctrl-C while it imports numpy.
    import numpy as _numpy  # noqa: F401

    from ._core import __version__ as __version__
    from .counting.ranking import rank as rank
