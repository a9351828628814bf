from .runtime.api.storages import *
