"""Transformer encoders and decoders."""

# Made by `make stubs` from the live package; not edited by hand.

from ingot.nn import Transformer as Transformer
from ingot.nn import TransformerDecoder as TransformerDecoder
from ingot.nn import TransformerDecoderLayer as TransformerDecoderLayer
from ingot.nn import TransformerEncoder as TransformerEncoder
from ingot.nn import TransformerEncoderLayer as TransformerEncoderLayer
