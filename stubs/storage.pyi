from .runtime.api.tensor_classes.typed_storage import *
