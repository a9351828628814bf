from ...runtime.data.dataloader import *
