"""`ingot.generation`: text from language models in GGUF files.

    model = generation.load("model.gguf")
    for piece in model.generate("The capital of France is", max_tokens=40):
        print(piece, end="", flush=True)

`load` reads the metadata (`decoder_config`), builds the `Decoder` over the file's tensors and the `Tokenizer`. Prompts go into
the cache by parts, and each token is one call of a traced step. Nothing here knows a backend.
"""

from .decoder import Decoder
from .decoder_config import DecoderConfig, config_of
from .language_model import LanguageModel, load
from .sampling import Sampling
from .tokenizer import Tokenizer

__all__ = ["Decoder", "DecoderConfig", "LanguageModel", "Sampling", "Tokenizer", "config_of", "load"]
