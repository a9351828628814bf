"""Names of elementwise functions and methods, which composite tensors apply to their values, and of functions in place."""

# Functions of each element alone, or of the elements at the same position in several tensors.
POINTWISE = (
    "abs", "acos", "acosh", "add", "addcdiv", "addcmul", "angle", "arccos", "arcsin", "arctan", "asin", "asinh", "atan",
    "atan2", "atanh", "bernoulli", "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "ceil", "clamp", "clamp_max",
    "clamp_min", "clip", "clone", "contiguous", "copy", "copysign", "cos", "cosh", "deg2rad", "detach", "digamma", "div",
    "divide",
    "double", "empty_like", "eq", "erf", "erfc", "erfinv", "exp", "exp2", "expm1", "fill", "float", "float_power", "floor",
    "floor_divide", "fmax", "fmin", "fmod", "frac", "full_like", "ge", "greater", "greater_equal", "gt", "half", "bfloat16",
    "heaviside", "hypot", "int", "isclose", "isfinite", "isinf", "isnan", "isneginf", "isposinf", "ldexp", "le", "lerp",
    "less", "less_equal", "lgamma", "log", "log10", "log1p", "log2", "logaddexp", "logical_and", "logical_not",
    "logical_or", "logical_xor", "logit", "long", "lt", "masked_fill", "maximum", "minimum", "mul", "multiply",
    "nan_to_num", "ne", "neg", "negative", "not_equal", "ones_like", "positive", "pow", "rad2deg", "rand_like",
    "randint_like", "randn_like", "reciprocal", "remainder", "round", "rsqrt", "rsub", "sgn", "sigmoid", "sign",
    "signbit", "sin", "sinc",
    "sinh", "sqrt", "square", "sub", "subtract", "tan", "tanh", "true_divide", "trunc", "type", "where", "xlogy",
    "zero", "zeros_like", "bool", "relu", "relu6", "gelu", "silu", "mish", "elu", "selu", "celu",
    "leaky_relu", "hardswish", "hardsigmoid", "hardtanh", "hardshrink", "softshrink", "tanhshrink", "softplus", "softsign",
    "logsigmoid", "threshold", "dropout", "alpha_dropout", "feature_alpha_dropout", "bitwise_left_shift",
    "bitwise_right_shift", "complex", "conj", "conj_physical", "entr", "erfcx", "gcd", "i0", "i0e", "i1", "i1e", "igamma",
    "igammac", "isreal", "lcm", "log_ndtr", "logaddexp2", "mvlgamma", "ndtr", "ndtri", "nextafter", "polar", "polygamma",
    "resolve_conj", "rrelu", "xlog1py", "zeta")
_ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and", "or", "xor", "lshift", "rshift")
DUNDERS = [f"__{kind}{name}__" for name in _ARITHMETIC for kind in ("", "r", "i")]
DUNDERS += [f"__{name}__" for name in ("eq", "ne", "lt", "le", "gt", "ge", "neg", "pos", "abs", "invert")]


def is_in_place(name: str) -> bool:
    """Return whether a function of this name writes into its first argument: `add_`, `__iadd__`."""
    return (name[-1] == "_" and name[-2] != "_") or (name[:3] == "__i" and name != "__invert__")
