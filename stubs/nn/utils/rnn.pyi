from ...runtime.nn.base.packed_sequence import *
