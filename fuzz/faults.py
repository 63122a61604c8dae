"""Faults that the checks of an area must find when they are planted in the package."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple


class Fault(NamedTuple):
    """A fault: in a file, the text `right` is replaced by `wrong`.

    The path is below `cpp`, or in the package. With `isa`, only this instruction set comes there.
    """

    path: str
    right: str
    wrong: str
    isa: str = ""

    @property
    def source(self) -> Path:
        """Return the path from the top folder."""
        return Path("" if self.path.startswith("cpp/") else "python/truerank", self.path)


PANEL, QUERIES, SETTLING = (
    f"cpp/engine/bounds/{name}.hpp" for name in ("bounded_panel", "bounded_queries", "settling")
)
TOKEN_BOUNDS, MAXIMA = "cpp/engine/tokens/token_bounds.hpp", "cpp/kernels/maxima.cpp"
# By area: the file, what stands there, the fault.
ROWS: dict[str, list[tuple[str, ...]]] = {
    "alignment": [
        ("alignment/task.py", "splits.tested :]", "splits.tested + 1 :]"),
        ("alignment/matching.py", "(rows < partners", "(rows > partners"),
    ],
    "arguments": [
        ("inputs/checks.py", "if not isinstance(value, kind):", "if False:"),
    ],
    "bounds": [
        ("cpp/engine/bounds/quantiser.hpp", "(residues.squares)) * kUp", "(residues.squares)) / 2"),
        (QUERIES, "= q_.rounded_up(facts.residue);", "= 0;"),
        (PANEL, "error += made.residue + 255 *", "error += 255 *"),
        (QUERIES, "= facts.offset - slack,", "= facts.offset - 0 * slack,"),
        (PANEL, "max(sum_panel_.residue,", "min(sum_panel_.residue,"),
        (QUERIES, "row.residue) / scale", "row.residue) * 0"),
        (
            "cpp/engine/bounds/quantiser.hpp",
            "return fullest / (static",
            "return fullest / 2 / (static",
            "avx2",
        ),
        (SETTLING, "= 2 * q_.scale.gamma() * size", "= 0 * size"),
        (PANEL, "2 * term_error", "0 * term_error"),
    ],
    "command_line": [
        ("cli/commands.py", "except InputError as error:", "except OSError as error:"),
    ],
    "counters": [
        ("cpp/engine/rows/row_finish.hpp", "!p_.filters_target(task)", "true"),
        ("counting/partial_counts.py", 'add(counts["tied"], 1', 'fmax(counts["tied"], 1'),
        ("counting/counter.py", "<< numbers.start", "<< numbers.start >> 1"),
    ],
    "embeddings": [
        ("cpp/kernels/steps.hpp", "A::fma(re, re, im * im)", "A::fma(im, im, re * re)"),
        ("embeddings/scoring.py", "embeddings.shape[1]))", "embeddings.shape[1] - 1))"),
        ("embeddings/vectors.py", "and length % 2)", "and length % 2 and length > 1)"),
    ],
    "inference": [
        ("inference/intervals.py", "math.sqrt(MORE_UNITS / 2)", "math.sqrt(MORE_UNITS)"),
    ],
    "joins": [
        ("inference/pairing.py", "columns.append(np.append(orders_a, orders_b))", "pass"),
        ("ranks/grouping.py", 'or (label == "unit" and ranks.origins)', ""),
        ("ranks/joining.py", 'for name in ("unit",) if are_named else', "for name in"),
    ],
    "late_interaction": [
        (TOKEN_BOUNDS, "value - error, value + error", "value - error / 4, value + error / 4"),
        (TOKEN_BOUNDS, "max(facts.residue, residue)", "max(0.0, residue)"),
        (TOKEN_BOUNDS, "facts.offset += q_.shift_product(row);", ""),
        (MAXIMA, "if (span.continues) {", "if (false) {"),
        (MAXIMA, "if (sum != sum) find_nans", "if (false) find_nans"),
        (
            "cpp/engine/tokens/token_scores.hpp",
            "sum += static_cast<double>(maxima[token]);",
            "sum = static_cast<C>(sum + static_cast<double>(maxima[token]));",
        ),
    ],
    "link_prediction": [
        ("tasks/side.py", "codes = codes[:end]", "codes = codes[: end - 1]"),
        ("tasks/candidates.py", "without(answers, self.ids)", "answers[:0]"),
        (
            "tasks/candidates.py",
            "np.diff(pool_indptr)[pool_of_task] -",
            "np.diff(pool_indptr)[pool_of_task] - 1 -",
        ),
    ],
    "metrics": [
        ("metrics/chance_model.py", "(tasks.weights * variances)", "variances"),
        ("metrics/keys.py", "if key.macro and", 'if key.macro and key.side == "both" and'),
        (
            "metrics/keys.py",
            '\n_WHOLE = re.compile(r"(?!.{1000',
            '\n_WHOLE = re.compile(r"(?!.{999',
        ),
    ],
    "parsers": [
        ("counting/partial_counts.py", "table.dtype != np.int64 or table", "table"),
        ("arrays/input_files.py", "head, len(content), expected", "head, 1 << 999, expected"),
        ("arrays/input_files.py", "sum(info.compress_size for info in entries.values())", "0"),
        ("records/text.py", "except (EOFError, zlib.error,", "except (EOFError,"),
        ("records/text.py", "list(names_by_place),", "sorted(names_by_place),"),
        ("arrays/input_files.py", "if codes.max() > sys.maxunicode:", "if False:"),
    ],
    "rank": [
        ("cpp/engine/selection.cpp", "sort(first, first + n);", "sort(first, first + n - 1);"),
        ("cpp/engine/selection.cpp", "value < least || value >= bound;", "value < least;"),
        ("inputs/selection.py", "indptr[-1] != entries or", ""),
    ],
    "renderers": [
        ("tables/forms.py", r're.compile(r"[\\|*', r're.compile(r"[\\*'),
        ("naming.py", "return _UNPRINTABLE.sub(escape, text)", "return text"),
    ],
    "reports": [
        ("reporting/reports.py", "Rankings(weighted, self", "Rankings(self.ranks, self"),
        ("metrics/contributions.py", "np.diff(bounds))", "np.diff(bounds[2:]))"),
        ("ranks/protocol.py", "COMPARABLE\n            if", "COMPARABLE[1:]\n            if"),
    ],
    "stores": [
        ("cpp/engine/files/file.cpp", "= selection->within(", "= selection->within(1 + "),
        ("stores/store.py", ', side="right") - 1', ' - 1, side="right") - 1'),
        ("stores/store.py", "range(0, columns, width)", "range(0, columns - (columns > 5), width)"),
        ("stores/__init__.py", "start + header.start)", "start + header.start + (start > 0))"),
    ],
}
FAULTS = {area: [Fault(*row) for row in rows] for area, rows in ROWS.items()}
