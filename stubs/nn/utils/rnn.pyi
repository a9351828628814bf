from ...runtime.nn.utils.rnn import *
