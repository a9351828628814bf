"""The public module `library`: user operators, registered as in PyTorch; `ingot.ops.namespace.name` calls them."""

from .custom_op import CustomOpDef, Tag
from .opcheck import get_ctx, opcheck
from .register import (
    Library,
    custom_op,
    define,
    fallthrough_kernel,
    impl,
    impl_abstract,
    register_autocast,
    register_autograd,
    register_fake,
    register_kernel,
    register_vmap,
    triton_op,
    wrap_triton,
)
from .schema import infer_schema

__all__ = ["CustomOpDef", "Library", "Tag", "custom_op", "define", "fallthrough_kernel", "get_ctx", "impl", "impl_abstract",
           "infer_schema", "opcheck", "register_autocast", "register_autograd", "register_fake", "register_kernel",
           "register_vmap", "triton_op", "wrap_triton"]
