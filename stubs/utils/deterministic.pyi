from ..runtime.toolbox.deterministic_switch import *
