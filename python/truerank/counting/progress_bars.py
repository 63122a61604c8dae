"""Progress of a count: see `truerank.inputs.progress_listeners`, which comparisons use, too."""

from __future__ import annotations

from ..inputs.progress_listeners import Bar as Bar
from ..inputs.progress_listeners import BoundedPairs as BoundedPairs
from ..inputs.progress_listeners import Progress as Progress
from ..inputs.progress_listeners import as_listener as as_listener
from ..inputs.progress_listeners import progress_text as progress_text
from ..inputs.progress_listeners import size_text as size_text
from ..inputs.progress_listeners import time_text as time_text
