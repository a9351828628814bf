"""The split of a text into words before byte pairs are merged, by the names that GGUF files use.

Each name has patterns that are applied one after the other: matches and the text between them are the pieces that the next
pattern splits. The patterns are those of the models' own tokenizers. `\\p{L}` is a category of Unicode, and stands inside of
brackets only, like `\\s`.
"""

import re
import unicodedata
from functools import cache

from ..ir.errors import FileError
from ..jit.errors.parameters import meant
from ..runtime.serialization.read_budget import shown

_END = 0x323B0          # no letter, mark, number or sign has a higher number
_WHITE = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"        # Unicode's White_Space; Python has more
_SHORT = r"(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"       # endings of English words
_SPACES = r"[\s]*[\r\n]+|[\s]+(?![^\s])|[\s]+"

_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?[\p{L}]+| ?[\p{N}]+| ?[^\s\p{L}\p{N}]+|[\s]+(?![^\s])"
_LLAMA3 = _SHORT + r"|[^\r\n\p{L}\p{N}]?[\p{L}]+|[\p{N}]{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + _SPACES
_QWEN2 = _LLAMA3.replace("{1,3}", "")
_QWEN35 = _SHORT + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|[\p{N}]| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|" + _SPACES
_DEEPSEEK3 = (r"[!-/:-@\[-`{-~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|" + _SPACES)
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
_START = r"[^\r\n\p{L}\p{N}]?"
_TEKKEN = (rf"{_START}{_UPPER}*{_LOWER}+|{_START}{_UPPER}+{_LOWER}*|[\p{{N}}]| ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_SPACES}")
_GPT4O = (rf"{_START}{_UPPER}*{_LOWER}+{_SHORT}?|{_START}{_UPPER}+{_LOWER}*{_SHORT}?|[\p{{N}}]{{1,3}}|"
          rf" ?[^\s\p{{L}}\p{{N}}]+[\r\n/]*|{_SPACES}")

PATTERNS: dict[str, tuple[str, ...]] = {
    "default": (r"[\p{P}$+<=>^~|]+", _GPT2, r"[\p{N}]+", "[0-9][0-9][0-9]"),
    **dict.fromkeys(("gpt-2", "phi-2", "mpt", "olmo", "jais", "trillion", "granite-docling", "gigachat"), (_GPT2,)),
    **dict.fromkeys(("llama3", "llama-v3", "llama-bpe", "falcon3", "pixtral", "lfm2", "dbrx", "smaug-bpe", "glm4",
                     "chatglm-bpe"), (_LLAMA3,)),
    **dict.fromkeys(("qwen2", "deepseek-r1-qwen", "stablelm2", "hunyuan", "grok-2"), (_QWEN2,)),
    "qwen35": (_QWEN35,),
    **dict.fromkeys(("starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b"), (r"[\p{N}]", _GPT2)),
    "falcon": (r"[\p{P}$+<=>^~|`]+", _GPT2, "[0-9][0-9][0-9]"),
    "deepseek-coder": (r"[\r\n]", r"[\s]?[\p{L}]+", r"[\s]?[\p{P}]+", "[一-龥ࠀ-一가-퟿]+", r"[\p{N}]"),
    **dict.fromkeys(("deepseek-v3", "hunyuan-dense"), (r"[\p{N}]{1,3}", "[一-龥぀-ゟ゠-ヿ]+", _DEEPSEEK3)),
    "tekken": (_TEKKEN,),
    **dict.fromkeys(("gpt-4o", "llama4"), (_GPT4O,)),
}
# A word that is a token stays whole, whatever the merges say; a text begins with the token for that.
WHOLE_WORDS = frozenset(("llama3", "llama-v3", "llama-bpe", "falcon3", "pixtral", "lfm2", "glm4", "tekken"))
BEGINS = WHOLE_WORDS - {"glm4"}


@cache
def _ranges(category: str) -> str:
    """Return the characters of a category ("Lu"), or of all that begin with a letter ("L"), as ranges of a pattern."""
    parts, start = [], None
    for code in range(_END + 1):
        inside = code < _END and unicodedata.category(chr(code)).startswith(category)
        if inside and start is None:
            start = code
        elif not inside and start is not None:
            parts.append(f"\\U{start:08x}-\\U{code - 1:08x}")
            start = None
    return "".join(parts)


@cache
def _compiled(pattern: str) -> re.Pattern:
    pattern = pattern.replace(r"\s", _WHITE)
    return re.compile(re.sub(r"\\p\{(\w+)\}", lambda m: _ranges(m[1]), pattern))


def patterns_of(name: str | None) -> tuple[str, ...]:
    """Return the patterns of a name; raise for an unknown one."""
    name = name or "default"
    if name not in PATTERNS:
        raise FileError(f"tokenizer.ggml.pre is {shown(name)}, a split into words that ingot does not know"
                        f"{meant(name, PATTERNS)}")
    return PATTERNS[name]


def words_of(text: str, patterns) -> list[str]:
    """Split a text into words."""
    words = [text]
    for pattern in patterns:
        words = [piece for word in words for piece in _pieces(word, _compiled(pattern))]
    return words


def _pieces(text, pattern):
    end = 0
    for match in pattern.finditer(text):
        if match.end() > match.start():
            if match.start() > end:
                yield text[end:match.start()]
            yield match[0]
            end = match.end()
    if end < len(text):
        yield text[end:]
