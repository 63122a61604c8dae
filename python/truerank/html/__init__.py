"""Pages: a report, or a comparison of models, as one HTML file that needs nothing else.

`documents` is the frame of any page, `style` what it looks like, `pictures` turns the plots into
SVG; `report_page` and `comparison_page` say what is on a page.
"""
