"""The harness: it draws the data, times contestants in turn, watches memory, and makes the table.

A case takes the fixture `compare` and says with `Pair` which ratios to print.
"""

from harness.comparing import Compare
from harness.table import Pair, Results
from harness.timing import Contestants, Team, Times, time_in_turn

__all__ = ["Compare", "Contestants", "Pair", "Results", "Team", "Times", "time_in_turn"]
