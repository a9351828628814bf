from ...runtime.data.dataset import *
