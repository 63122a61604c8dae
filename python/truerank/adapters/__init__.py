"""truerank inside other libraries; each module needs the library that it is named after.

`pykeen` is for PyKEEN's pipeline and models, `dask` for many machines, `torchmetrics` for training
loops, `recbole` for RecBole's trainers, `ir_measures` for measures by its names, `mteb` for its
retrieval tasks, and `sentence_transformers` for evaluations and trainers. No module is imported
before it is used.

They are written from the public names of truerank, as users would write them; a test counts the few
others.
"""

from ..naming import import_extra as import_extra
