"""`ingot.ao.nn.quantized.Embedding`: a table with rows of bytes, each with a scale and a zero point."""

from ...ir import dtype as dt
from ...ir.errors import ArgumentError, DTypeError
from ..api.register.register import FUNCTIONS
from ..autograd.grad_mode import no_grad
from ..nn.base.module import Module
from ..nn.layers import embedding as float_sparse
from ..nn.utils.parametrize import type_before_parametrizations
from . import qat_modules
from .fake_quantize import default_embedding_fake_quant


class Embedding(Module):
    """Lookup of byte rows, converted to float32."""

    _float_module = float_sparse.Embedding
    _trained = (qat_modules.Embedding,)

    def __init__(self, num_embeddings, embedding_dim):
        super().__init__()
        self.num_embeddings, self.embedding_dim = num_embeddings, embedding_dim
        self.register_buffer("weight_bytes", FUNCTIONS["zeros"]((num_embeddings, embedding_dim), dtype=dt.uint8))
        self.register_buffer("scale", FUNCTIONS["ones"]((num_embeddings, 1), dtype=dt.float32))
        self.register_buffer("zero_point", FUNCTIONS["zeros"]((num_embeddings, 1), dtype=dt.float32))

    @classmethod
    def from_float(cls, mod):
        """Return the byte table of a float one, or of one trained with rounded rows, by its steps."""
        kind = type_before_parametrizations(mod)
        if kind is not cls._float_module and kind not in cls._trained:
            raise DTypeError(f"Embedding.from_float takes nn.Embedding, got {type(mod).__name__}")
        if mod.max_norm is not None:
            raise ArgumentError("a table of bytes is not written, so there is no max_norm")
        fake = mod.weight_fake_quant if isinstance(mod, qat_modules.Embedding) else default_embedding_fake_quant()
        made = cls(mod.num_embeddings, mod.embedding_dim)
        with no_grad():
            weight = mod.weight.detach().to(dt.float32)
            rounded = fake(weight)
            made.scale = fake.scale.expand(mod.num_embeddings).reshape(-1, 1).clone()
            zero = fake.zero_point.to(dt.float32).expand(mod.num_embeddings).reshape(-1, 1)
            made.zero_point = zero - fake.quant_min         # bytes count from the lowest step
            made.weight_bytes = (rounded / made.scale + made.zero_point).round().to(dt.uint8)
        return made.eval()

    def weight(self):
        """Return the table in float32."""
        return (self.weight_bytes.to(dt.float32) - self.zero_point) * self.scale

    def forward(self, input):
        return (self.weight_bytes[input].to(dt.float32) - self.zero_point[input]) * self.scale[input]

    def _get_name(self):
        return "QuantizedEmbedding"

    def extra_repr(self):
        return f"num_embeddings={self.num_embeddings}, embedding_dim={self.embedding_dim}, dtype=ingot.quint8"
