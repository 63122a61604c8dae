"""`truerank evaluate`: computes the metrics of scores in files, or of saved ranks."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click
import numpy as np

from .. import Ranks, load, rank
from ..inputs.errors import InputValueError
from .app import Subcommand, user_errors, write_line
from .files import (
    AXES,
    COUNT_READERS,
    STORE_KEYWORDS,
    holds_ranks,
    is_file,
    open_store,
    read_array,
    read_targets,
)
from .list_evaluation import (
    LIST_OPTIONS,
    SHARED_OPTIONS,
    filtered_option,
    known_option,
    list_files,
    lists_option,
    qrels_option,
    rank_list_file,
)
from .options import (
    QUOTES_HINT,
    SAVE_HELP,
    File,
    check_not_blank,
    combine_options,
    dtype_option,
    given_options,
    io_option,
    nan_option,
    order_option,
    report_options,
    split_list,
    split_option,
    targets_argument,
    threads_option,
)
from .progress import ProgressBar, ProgressListener
from .protocol_runs import blank_ranks
from .report_request import ReportRequest, check_writable, print_report

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .. import Progress
    from ..stores import Store

# Options that are keywords of `rank`.
COUNT_OPTIONS = ("filter", "rows", "candidates", "order", "nan", "threads", "audit")
# Options, with the label of the ranks or the field of the protocol that each of them sets.
LABEL_OPTIONS = {"side": "side", "relation": "relation", "queries": "queries"}
PROTOCOL_OPTIONS = {"split": "split", "filtered_by": "filter"}
ALLOWED_WITH_LISTS = (*LIST_OPTIONS, *SHARED_OPTIONS)
CHECKPOINT_SUFFIX = ".partial"  # a checkpoint is named like the ranks file with this suffix


def parse_shape(
    _context: click.Context, _option: click.Parameter, text: str | None
) -> tuple[int, int] | None:
    """Parse rows and columns, as 1000x40943; one of them may be left out."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d{0,18})[xX](\d{0,18})", text.strip())
    if found is None or not any(found.groups()):
        raise click.BadParameter(f"expected rows and columns, as 1000x40943, got {text!r}")
    rows, columns = (int(length or -1) for length in found.groups())
    return rows, columns


# Extra arguments are mostly the files of a pattern, so the command itself reports them.
@click.command(
    cls=Subcommand,
    context_settings={"allow_extra_args": True},
    short_help="Rank true candidates, and report the metrics.",
)
@click.argument("scores", type=File, required=False)
@targets_argument
@combine_options(lists_option, qrels_option, known_option, filtered_option)
@click.option(
    "--filter",
    type=File,
    help="Candidates to leave out for each task: .npz with indptr, indices and perhaps lists (the "
    "list that each task uses), or a CSR matrix saved by scipy.sparse.",
)
@click.option("--rows", type=File, help="Score row of each task: .npy.")
@click.option(
    "--candidates",
    type=File,
    help="Candidates to rank among: .npy of columns for all tasks, or .npz as for --filter. With "
    "--lists, how many there are in all, or a file with a name in each line.",
)
@order_option
@nan_option
@click.option(
    "--shards",
    type=click.Choice(list(AXES)),
    help="Whether each file of a pattern holds some of the rows (the default) or of the columns.",
)
@click.option(
    "--member", metavar="NAME", help="Name of the array in an .npz file, HDF5 file or zarr group."
)
@click.option(
    "--shape",
    metavar="ROWSxCOLUMNS",
    callback=parse_shape,
    help="Shape of a raw file, with --dtype: 1000x40943, or x40943 for as many rows as it has.",
)
@dtype_option(
    'Dtype of a raw file: float32, int8, ..., or in quotes ">float32", which is big-endian. For '
    ".npy files that hold raw 2-byte scores: bfloat16."
)
@click.option(
    "--layout",
    type=click.Choice(["C", "F"]),
    help="Whether a raw file stores row after row (C, the default) or column after column (F).",
)
@click.option(
    "--offset",
    type=click.IntRange(min=0),
    metavar="BYTES",
    help="Where the scores of a raw file begin.",
)
@io_option
@click.option(
    "--side",
    metavar="WORD|FILE",
    callback=check_not_blank,
    help="What each task predicts: head or tail for all tasks, or .npy with a word for each. It is "
    "stored by --save, and can be added to saved ranks.",
)
@click.option("--relation", type=File, help="Relation of each task, stored likewise: .npy.")
@click.option("--queries", type=File, help="Query of each task, stored likewise: .npy.")
@split_option("Name of the evaluated split, stored likewise.")
@click.option(
    "--filtered-by",
    metavar="NAME,...",
    callback=split_list,
    help="Splits whose answers --filter leaves out, stored likewise: train,valid,test.",
)
@threads_option
@report_options(
    f"{SAVE_HELP}. While they are counted, FILE.partial beside it keeps what is done so far.",
    click.option(
        "--resume/--no-resume",
        default=None,
        help="Continue from the FILE.partial that a stopped run left, if there is one, or count "
        "anew. Without either, such a file is kept, and the run is refused.",
    ),
)
@click.pass_context
def evaluate(
    context: click.Context,
    /,
    scores: Path | None,
    targets: str | None,
    lists: Path | None,
    **options: Any,
) -> None:
    """Rank the true candidate of each task and report the metrics.

    SCORES has one row for each task (see --rows): a .npy or .npz file, the files of a pattern in
    quotes ("part-*.npy"), a zarr folder, an HDF5 file, or raw numbers with --shape and --dtype.
    Files may be larger than memory. SCORES may also be the .npz file of ranks that --save wrote;
    then no TARGETS are given. TARGETS is a .npy file with the column of each true candidate, or a
    number: one column for all tasks.

    \b
    truerank evaluate scores.npy targets.npy --filter filter.npz --filtered-by train,valid
        --side tail --relation relations.npy --queries heads.npy --split test --save ranks.npz
    truerank evaluate "part-*.npy" targets.npy --shards columns --save ranks.npz --resume
    truerank evaluate ranks.npz --metrics mrr,amri,macro.mrr --by relation --interval
    truerank evaluate --lists run.txt.gz --qrels qrels.txt --candidates 8841823
    truerank evaluate --lists predictions --known train.txt --known valid.txt
    """
    if context.args:
        many = " ".join(context.args[:3]) + " ..." * (len(context.args) > 3)
        raise click.UsageError(f"Got unexpected extra arguments ({many}); {QUOTES_HINT}")
    request = ReportRequest.from_options(options)
    given = given_options(options)
    if lists is not None:
        evaluate_lists(lists, [scores, targets], given, request)
        return
    refuse_list_options(given)
    if scores is None:
        raise click.UsageError("Missing argument 'SCORES'.")
    if "resume" in given and request.save is None:
        raise click.UsageError("--resume needs --save, beside which a stopped run left its work")
    with user_errors():
        saved = holds_ranks(scores)
        ranks_file = None if request.save is None else RanksFile(request.save, options["resume"])
        labels = [request.by, request.weights, *(given.get(name) for name in LABEL_OPTIONS)]
        files = [path for path in labels if path is not None and is_file(path)]
        if ranks_file is not None:
            ranks_file.check(files)
        request = request.with_files_read([*files, *([scores] if saved else [])], saved=False)
    if saved:
        measured = request.make_report(load_saved(scores, targets, given))
        if ranks_file is not None:
            with user_errors():
                measured.ranks.save(ranks_file.path)
    elif targets is None:
        raise click.UsageError("Missing argument 'TARGETS'.")
    elif "filtered_by" in given and "filter" not in given:
        raise click.UsageError("--filtered-by names the splits of --filter, which is not given")
    else:
        audit = {"audit": request.audit}
        measured = request.make_report(
            count_ranks(scores, targets, {**given, **audit}, ranks_file, request)
        )
    print_report(measured, request)


# -- lists ---------------------------------------------------------------------------------------


def evaluate_lists(
    lists: Path, arguments: Sequence[object], options: Mapping[str, Any], request: ReportRequest
) -> None:
    """Report the ranks of lists; what says how scores are stored cannot apply to them."""
    given = ["SCORES"] * (arguments != [None, None])
    given += [f"--{name.replace('_', '-')}" for name in options if name not in ALLOWED_WITH_LISTS]
    if given:
        raise click.UsageError(f"{', '.join(given)} cannot apply to --lists")
    with user_errors():
        request = request.with_files_read(list_files(lists, options))
    ranks = rank_list_file(lists, options)
    measured = request.make_report(ranks)
    if request.save is not None:
        with user_errors():
            measured.ranks.save(request.save)
    print_report(measured, request)


def refuse_list_options(options: Mapping[str, Any]) -> None:
    """Raise an error for options that only lists have."""
    given = [f"--{name}" for name in LIST_OPTIONS if name in options]
    if given:
        raise click.UsageError(f"{', '.join(given)}: expected --lists beside it")


# -- runs ------------------------------------------------------------------------------------------


class LabelsAndProtocol(NamedTuple):
    """The labels and the fields of the protocol that the command line gives to ranks."""

    labels: dict[str, Any]
    protocol: dict[str, Any]

    def add_to(self, ranks: Ranks) -> Ranks:
        """Return the ranks with these labels and fields; others are unchanged."""
        if "filter" in self.protocol and not ranks.protocol.filter:
            raise InputValueError("--filtered-by", "these ranks are unfiltered")
        return ranks.with_labels(**self.labels).with_protocol(**self.protocol)


def read_labels_and_protocol(options: Mapping[str, Any]) -> LabelsAndProtocol:
    """Read labels from files or as one word for all tasks, and take the fields of the protocol."""
    labels = {
        label: read_array(f"--{name}", Path(given)) if is_file(given) else given
        for name, label in LABEL_OPTIONS.items()
        if (given := options.get(name)) is not None
    }
    return LabelsAndProtocol(
        labels, {field: options[k] for k, field in PROTOCOL_OPTIONS.items() if k in options}
    )


def number_of_tasks(store: Store, targets: int | NDArray[Any], rows: Any) -> int | None:
    """Return the number of tasks of a count, or None if `rank` will refuse it."""
    if rows is not None:
        return len(rows) if rows.ndim == 1 else None
    if np.ndim(targets):
        return len(targets) if np.ndim(targets) == 1 else None  # type: ignore[arg-type]
    return store.shape[0]


def rank_with_bar(
    store: Store, targets: Any, on_progress: Callable[[], object] = lambda: None, **keywords: Any
) -> Ranks:
    """Count with a progress bar, and call `on_progress` at the start and after each tile."""
    with ProgressBar() as bar:
        listener = ProgressListener(bar)

        def report_progress(progress: Progress) -> None:
            on_progress()
            listener(progress)

        return rank(store, targets, progress=report_progress, **keywords)


class RanksFile(NamedTuple):
    """The file to save ranks in, with a checkpoint beside it while they are counted.

    `resume` says whether the count goes on from a checkpoint or replaces it; None: neither, so that
    there must be none.
    """

    path: Path
    resume: bool | None

    @property
    def checkpoint(self) -> Path:
        """The file of the checkpoint."""
        return Path(f"{self.path}{CHECKPOINT_SUFFIX}")

    def check(self, files: Sequence[str | Path]) -> None:
        """Raise an error if either file cannot be written, or would replace a file that is read."""
        for path in (self.path, self.checkpoint):
            check_writable(path, files)

    def check_checkpoint(self) -> None:
        """Raise an error if a stopped run left work, and the user did not say what to do with it.

        It may be worth hours, and its count cannot be told from the one that is asked for.
        """
        if self.resume is None and self.checkpoint.exists():
            problem = (
                f"{self.checkpoint} has what a stopped run counted: --resume goes on from it, "
                "--no-resume counts anew"
            )
            raise InputValueError("--save", problem)

    def rank_beside_checkpoint(self, store: Store, targets: Any, **keywords: Any) -> Ranks:
        """Count with a checkpoint; with --no-resume, an old checkpoint is replaced.

        After Ctrl-C, a line says whether there is a checkpoint to resume from.
        """
        # an old checkpoint is kept until counting starts, so that a refused run does not lose it
        old = Path(f"{self.checkpoint}.old")
        if not self.resume and self.checkpoint.exists():
            self.checkpoint.replace(old)
        ours = not self.checkpoint.exists()

        def discard_old() -> None:
            old.unlink(missing_ok=True)

        try:
            return rank_with_bar(
                store, targets, discard_old, checkpoint=self.checkpoint, **keywords
            )
        except (TypeError, ValueError):  # resuming would fail in the same way
            if ours:
                self.checkpoint.unlink(missing_ok=True)
            raise
        except KeyboardInterrupt:
            found = self.checkpoint.exists()
            rest = f"; --resume goes on from {self.checkpoint}" if found else " before the count"
            write_line(f"Stopped{rest}")
            raise click.Abort from None
        finally:
            if old.exists():
                old.replace(self.checkpoint)

    def save_ranks(self, ranks: Ranks) -> None:
        """Save the ranks and delete the checkpoint."""
        ranks.save(self.path)
        self.checkpoint.unlink(missing_ok=True)


def count_ranks(
    scores: Path,
    targets: str,
    options: dict[str, Any],
    ranks_file: RanksFile | None,
    request: ReportRequest,
) -> Ranks:
    """Count the ranks of scores in files, after a check that the other options fit them."""
    with user_errors():
        store = open_store(scores, options)
    with store:
        files = [*store.files, *([] if targets.isdecimal() else [targets])]
        files += [str(options[name]) for name in COUNT_READERS if name in options]
        files += [str(options[name]) for name in LABEL_OPTIONS if is_file(options.get(name))]
        with user_errors():
            if ranks_file is not None:
                ranks_file.check(files)
                ranks_file.check_checkpoint()
            request.check_page(files)
            columns = read_targets("TARGETS", targets)
            if np.ndim(columns) == 2:
                got = f"a matrix; {QUOTES_HINT}"
                raise InputValueError(f"TARGETS: {targets}", expected="columns", got=got)
            keywords_of_rank = {name: options[name] for name in COUNT_OPTIONS if name in options}
            for name, reader in COUNT_READERS.items():
                if name in options:
                    keywords_of_rank[name] = reader(f"--{name}", options[name])
            facts, n = (
                read_labels_and_protocol(options),
                number_of_tasks(store, columns, keywords_of_rank.get("rows")),
            )
            if "targets" in request.label_names() and n is not None:
                facts.labels["targets"] = columns if np.ndim(columns) else np.full(n, columns)
            if n is not None:  # checked before a count, which may take long
                filtered = {"filter": ("unnamed",)} if "filter" in keywords_of_rank else {}
                placeholder_ranks = facts.add_to(blank_ranks(n).with_protocol(**filtered))
        if n is not None:
            request.make_report(placeholder_ranks)
        counting = rank_with_bar if ranks_file is None else ranks_file.rank_beside_checkpoint
        with user_errors():
            ranks = counting(store, columns, **keywords_of_rank)
            ranks = facts.add_to(ranks).with_protocol(files=files)
            if ranks_file is not None:  # before anything else can fail
                ranks_file.save_ranks(ranks)
    return ranks


def load_saved(scores: Path, targets: str | None, options: dict[str, Any]) -> Ranks:
    """Load ranks that an earlier run saved; options of a count cannot apply to them."""
    given = ["TARGETS"] * (targets is not None)
    names = dict.fromkeys((*COUNT_OPTIONS, *STORE_KEYWORDS, "resume"))
    given += [f"--{name}" for name in names if name in options and name != "audit"]
    if given:
        raise click.UsageError(
            f"{scores} is an archive of ranks that were counted before: "
            f"{', '.join(given)} cannot apply to them"
        )
    with user_errors():
        return read_labels_and_protocol(options).add_to(load(scores))
