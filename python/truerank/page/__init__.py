"""Reports as a page: one HTML file with tables and plots, which needs no other and no network.

`save` is all that there is. `page.html` is the frame of every page and `page.css` its style;
`report_page` fills it, with plots as SVG.
"""

from .report_page import save

__all__ = ["save"]
