from ...runtime.distributed.checkpoint.folder_format import *
