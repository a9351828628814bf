from ..jit.fx.subgraph_rewriter import *
