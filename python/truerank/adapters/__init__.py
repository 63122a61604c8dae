"""truerank inside other libraries: each module needs the library it is named after.

`pykeen` for its pipeline and models, `dask` for many machines, `torchmetrics` for training loops.
Nothing here is imported before it is asked for.
"""
