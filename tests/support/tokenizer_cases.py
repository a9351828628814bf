"""Write `tokenizer_cases.json`: small vocabularies by the package `tokenizers`, and its numbers for texts.

    python tests/support/tokenizer_cases.py        # needs the extra `peers`
"""

import json
import random
from pathlib import Path

FILE = Path(__file__).with_suffix(".json")
SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
SHORT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
LOWER, UPPER = r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]", r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]"
START = r"[^\r\n\p{L}\p{N}]?"
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + SPACES
LLAMA3 = SHORT + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + SPACES
# The patterns of the models' own files, in the spelling of the package; None is its pattern of GPT-2.
SPLITS = {
    "gpt-2": None,
    "smollm": "digits",
    "llama-bpe": LLAMA3,
    "qwen2": LLAMA3.replace("{1,3}", ""),
    "qwen35": SHORT + r"|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|" + SPACES,
    "deepseek-v3": [r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+",
                    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"
                    r" ?[\p{P}\p{S}]+[\r\n]*|" + SPACES],
    "tekken": f"{START}{UPPER}*{LOWER}+|{START}{UPPER}+{LOWER}*|" + r"\p{N}" + REST,
    "gpt-4o": f"{START}{UPPER}*{LOWER}+{SHORT}?|{START}{UPPER}+{LOWER}*{SHORT}?|" + r"\p{N}{1,3}" + REST,
}
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
KNOWN = [
    "", " ", "\n", " \n \n", "Hello world", "  two  spaces   three", "\n\n\nnew\n\nlines\t\ttabs\r\n",
    "it's I'LL you're WE'VE 'tis",
    "123456 3.14 1,000 ²³½ Ⅷ", "日本語のテキスト、漢字。", "émigré naïve ÅÄÖ ß",
    "e\u0301a\u0301 क्षत्रिय", "👩‍👩‍👧🏽 🎉", "мир مرحبا",
    "def f(x):\n    return x**2  # c\r\n", "a\u00a0b\u2003c\x85d\x1c\x1fe", "\x00\x01\ufffd", "HTTPServer camelCase X2y",
    "<|im_start|>user\nhi<|im_end|>", "<|im_end", "x" * 50, "\U00010330\U0001F600", "http://a.b/c?d=e&f", "$1.00 €2 `q` ^~|",
]


def texts() -> list[str]:
    """Return the known texts, and random ones of characters at which splits differ."""
    rng, alphabet = random.Random(1), "abcXY  \n\t'sSt1234.,!?-_/é日кл😀\u0301\u200d"
    return KNOWN + ["".join(rng.choices(alphabet, k=rng.randint(1, 40))) for _ in range(40)]


def cases() -> dict:
    """Return {split: {"tokens", "merges", "ids": one list for each text}}."""
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

    out = {}
    for name, pattern in SPLITS.items():
        t = Tokenizer(models.BPE(ignore_merges=name in ("llama-bpe", "tekken")))
        if pattern is None or pattern == "digits":
            before = [pre_tokenizers.Digits(individual_digits=True)] * (pattern == "digits")
            t.pre_tokenizer = pre_tokenizers.Sequence([*before, pre_tokenizers.ByteLevel(add_prefix_space=False)])
        else:
            splits = [pre_tokenizers.Split(Regex(p), "isolated") for p in ([pattern] if isinstance(pattern, str) else pattern)]
            t.pre_tokenizer = pre_tokenizers.Sequence([*splits, pre_tokenizers.ByteLevel(False, use_regex=False)])
        t.train_from_iterator(texts(), trainers.BpeTrainer(
            vocab_size=400, special_tokens=SPECIAL, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
        model = json.loads(t.to_str())["model"]
        out[name] = {"tokens": sorted(model["vocab"], key=model["vocab"].get),
                     "merges": [m if isinstance(m, str) else " ".join(m) for m in model["merges"]],
                     "ids": [t.encode(text, add_special_tokens=False).ids for text in texts()]}
    return out


if __name__ == "__main__":
    FILE.write_text(json.dumps(cases(), ensure_ascii=True, separators=(",", ":")), encoding="utf-8")
