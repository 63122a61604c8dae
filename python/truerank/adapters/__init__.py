"""truerank inside other libraries; each module needs the library that it is named after.

`pykeen` is for PyKEEN's pipeline and models, `dask` for many machines, and `torchmetrics` for
training loops. No module is imported before it is used.
"""
