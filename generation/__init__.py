"""`ingot.generation`: text from language models in GGUF files.

    model = generation.load("model.gguf")
    for piece in model.generate("The capital of France is", max_tokens=40):
        print(piece, end="", flush=True)

`load` reads the metadata (`decoder_config`), builds the `Decoder` over the file's tensors and the `Tokenizer`. Texts run in the
rows of a `Batch`: prompts go into the cache by parts, and each call of a traced step writes one token of every text. A
`Scheduler` gives the rows to requests. Nothing here knows a backend.
"""

from .batch import Batch
from .decoder import Decoder
from .decoder_config import DecoderConfig, config_of
from .language_model import LanguageModel, load
from .sampling import Sampling
from .scheduler import Request, Scheduler
from .tokenizer import Tokenizer

__all__ = ["Batch", "Decoder", "DecoderConfig", "LanguageModel", "Request", "Sampling", "Scheduler", "Tokenizer", "config_of",
           "load"]
