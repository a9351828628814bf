from ..runtime.toolbox.benchmark import *
