from ..runtime.toolbox.foreach_groups import *
