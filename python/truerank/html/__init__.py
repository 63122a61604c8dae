"""Write a report, or a comparison of models, as a single HTML file.

`documents` has the frame of any page, `page.css` its style, and `pictures` turns plots into SVG;
`report_page` and `comparison_page` have the content of the pages.
"""
