"""A model of sentence-transformers with a vector for each word, made on the spot."""

from __future__ import annotations

from typing import Any

import torch
from sentence_transformers import MultiVectorEncoder
from sentence_transformers.base.modules import InputModule
from sentence_transformers.sentence_transformer.modules.tokenizer import WhitespaceTokenizer


class Words(InputModule):  # type: ignore[misc]
    """The row of a matrix for each word, to which a share of the text's mean may be added."""

    def __init__(self, words: list[str], vectors: Any, share: float) -> None:
        super().__init__()
        self.share = share
        self.vectors = torch.nn.Parameter(torch.as_tensor(vectors), requires_grad=False)
        self.tokenizer = WhitespaceTokenizer(words, stop_words=set(), do_lower_case=False)

    def preprocess(self, inputs: list[str], prompt: str | None = None, **_: Any) -> dict[str, Any]:
        rows = [torch.tensor(self.tokenizer.tokenize((prompt or "") + text)) for text in inputs]
        masks = [torch.ones(len(row)) for row in rows]
        padded = [torch.nn.utils.rnn.pad_sequence(each, batch_first=True) for each in (rows, masks)]
        return {"input_ids": padded[0].long(), "attention_mask": padded[1]}

    def forward(self, features: dict[str, Any], **_: Any) -> dict[str, Any]:
        mask = features["attention_mask"][:, :, None]
        vectors = self.vectors[features["input_ids"]] * mask
        mean = vectors.sum(1, keepdim=True) / mask.sum(1, keepdim=True)
        return features | {"token_embeddings": vectors + self.share * mean}

    def save(self, *_: Any, **__: Any) -> None:
        raise NotImplementedError

    def get_embedding_dimension(self) -> int:
        return int(self.vectors.shape[1])


def token_model(words: list[str], vectors: Any, share: float = 0) -> Any:
    """Return a `MultiVectorEncoder`, for which a text has as many tokens as known words.

    Without a share of the mean, texts with the same words have the same scores, to the last bit.
    """
    return MultiVectorEncoder(modules=[Words(words, vectors, share)], device="cpu")
