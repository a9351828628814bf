"""Texts to token numbers and back, by the tokenizer of a GGUF file.

Two kinds of vocabulary: `llama` has a score for each token, and spaces are "▁"; `gpt2` has a list of merges over the bytes of
words. Both begin with single characters, and join the best pair of neighbours until none is left.
"""

import codecs
import heapq
import re
from collections.abc import Callable, Iterable

from ..ir.errors import ArgumentError, FileError
from ..runtime.serialization import gguf_format
from ..runtime.serialization.read_budget import shown
from .word_split import BEGINS, WHOLE_WORDS, patterns_of, words_of

_NORMAL, _UNKNOWN, _CONTROL, _USER, _UNUSED, _BYTE = range(1, 7)        # token_type
_SPACE = "▁"
_KEPT_WORDS = 1 << 14       # words whose tokens are remembered
# Tokens that end a text or a turn, in files that do not name them so.
_ENDS = frozenset(("<|eot_id|>", "<|im_end|>", "<|end|>", "<end_of_turn>", "<|endoftext|>", "<|end_of_text|>", "<|eom_id|>",
                   "<EOT>", "<end_of_utterance>", "<｜end▁of▁sentence｜>", "</s>"))


def _characters_of_bytes() -> dict[int, str]:
    """Return a printable character for each byte: itself, or one from 256 on for spaces, controls and the like."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in set(plain)]
    return {b: chr(b) for b in plain} | {b: chr(256 + i) for i, b in enumerate(rest)}


_CHARACTERS = _characters_of_bytes()
_BYTES = {character: byte for byte, character in _CHARACTERS.items()}


def joined(symbols: list[str], rank: Callable[[str, str], float | None]) -> list[str]:
    """Join the pair of neighbours of the least rank, the first of equal ones, until no pair has a rank."""
    count = len(symbols)
    after, before = list(range(1, count + 1)), list(range(-1, count - 1))
    heap: list = []

    def offer(left, right):
        if left >= 0 and right < count:
            value = rank(symbols[left], symbols[right])
            if value is not None:
                heapq.heappush(heap, (value, left, right, symbols[left], symbols[right]))

    for left in range(count - 1):
        offer(left, left + 1)
    while heap:
        _, left, right, first, second = heapq.heappop(heap)
        if symbols[left] != first or symbols[right] != second or after[left] != right:
            continue            # one of the two was joined meanwhile
        symbols[left], symbols[right] = first + second, ""
        after[left] = after[right]
        if after[left] < count:
            before[after[left]] = left
        offer(before[left], left)
        offer(left, after[left])
    return [s for s in symbols if s]


class Tokenizer:
    """A vocabulary, and the way to it.

    tokens   texts of the tokens by number
    begin    token at the start of each text, or None
    ends     tokens that end a text or a turn
    """

    def __init__(self, fields: gguf_format.Tokenizer):
        if fields.model not in ("llama", "gpt2"):
            raise FileError(f"tokenizer.ggml.model is {shown(fields.model)}; ingot reads llama and gpt2")
        self.tokens: list[str] = fields.tokens
        self.types = [_NORMAL] * len(self.tokens) if fields.token_types is None else fields.token_types.tolist()
        self.ids = {text: i for i, text in enumerate(self.tokens)}
        self.unknown = fields.special_ids.get("unknown")
        self.by_merges = fields.model == "gpt2"
        named = fields.special_ids
        begins = fields.flags.get("add_bos_token", not self.by_merges or fields.pre in BEGINS)
        self.begin: int | None = named.get("bos", named.get("eos")) if begins else None
        self.end: int | None = named.get("eos") if fields.flags.get("add_eos_token", False) else None
        self.ends: set[int] = {named[name] for name in ("eos", "eot", "eom") if name in named}
        self.ends |= {self.ids[text] for text in _ENDS & self.ids.keys() if self.types[self.ids[text]] in (_CONTROL, _USER)}
        self._special = _Special({text: i for text, i in self.ids.items() if self.types[i] in (_CONTROL, _USER, _UNKNOWN)})
        self._plain_special = _Special({text: i for text, i in self.ids.items() if self.types[i] == _USER})
        self._words: dict[str, list[int]] = {}
        if self.by_merges:
            self._patterns, self._whole = patterns_of(fields.pre), fields.pre in WHOLE_WORDS
            if fields.merges is None:
                raise FileError("tokenizer.ggml.merges is missing, which the tokenizer gpt2 needs")
            self._ranks = {_pair(merge): i for i, merge in reversed(list(enumerate(fields.merges)))}
        else:
            if fields.scores is None:
                raise FileError("tokenizer.ggml.scores is missing, which the tokenizer llama needs")
            self._scores = dict(zip(self.tokens, fields.scores.tolist()))
            self._spaced = fields.flags.get("add_space_prefix", True)
            numbers = {b: self.ids.get(f"<0x{b:02X}>") for b in range(256)}
            self._bytes = {b: number for b, number in numbers.items() if number is not None}

    # Texts to numbers.

    def encode(self, text: str, special: bool = True, begin: bool = True) -> list[int]:
        """Return the tokens of a text.

        special   whether names of control tokens in the text, such as "<|im_end|>", are these tokens; give False for texts of
                  people who must not end a turn
        begin     whether the token at the start of texts comes first, and that at their end last, if the model has them
        """
        if not isinstance(text, str):
            raise ArgumentError(f"encode takes a text, got {type(text).__name__}")
        out = [self.begin] if begin and self.begin is not None else []
        after_special = True
        for piece in (self._special if special else self._plain_special).split(text):
            if isinstance(piece, int):
                out.append(piece)
                after_special = True
                continue
            if self.by_merges:
                for word in words_of(piece, self._patterns):
                    out += self._word(word)
            else:
                prefix = " " if self._spaced and after_special else ""
                out += self._scored((prefix + piece).replace(" ", _SPACE))
            after_special = False
        return [*out, self.end] if begin and self.end is not None else out

    def _word(self, word: str) -> list[int]:
        """Return the tokens of a word, by merges."""
        known = self._words.get(word)
        if known is None:
            data = word.encode("utf-8", "surrogatepass")
            shown_bytes = "".join([_CHARACTERS[b] for b in data])
            if self._whole and shown_bytes in self.ids:
                parts = [shown_bytes]
            else:
                parts = joined(list(shown_bytes), lambda a, b: self._ranks.get((a, b)))
            known = [self._id(part) for part in parts]
            if len(self._words) < _KEPT_WORDS:
                self._words[word] = known
        return known

    def _scored(self, text: str) -> list[int]:
        """Return the tokens of a text, by scores."""
        scores, out = self._scores, []

        def rank(a, b):
            score = scores.get(a + b)
            return None if score is None else -score

        for part in joined(list(text), rank):
            number = self.ids.get(part)
            if number is not None:
                out.append(number)
            else:               # a single character
                data = part.replace(_SPACE, " ").encode("utf-8", "surrogatepass")       # of vocabularies of bytes alone
                out += [self._bytes[b] for b in data] if self._bytes.keys() >= set(data) else [self._id(part)]
        return out

    def _id(self, part: str) -> int:
        number = self.ids.get(part, self.unknown)
        if number is None:
            raise ArgumentError(f"the tokenizer has no token for {shown(part)}")
        return number

    # Numbers to texts.

    def bytes_of(self, token: int) -> bytes:
        """Return the text of a token as UTF-8, which may be a part of a character; nothing for control tokens."""
        if not 0 <= token < len(self.tokens):
            raise ArgumentError(f"there is no token {token}: the tokenizer has {len(self.tokens)}")
        text, kind = self.tokens[token], self.types[token]
        if kind in (_CONTROL, _UNUSED, _UNKNOWN):
            return b""
        if kind == _USER:
            return text.encode()
        if self.by_merges:
            return b"".join([bytes([_BYTES[c]]) if c in _BYTES else c.encode("utf-8", "surrogatepass") for c in text])
        if kind == _BYTE and re.fullmatch("<0x[0-9A-F]{2}>", text):
            return bytes([int(text[3:5], 16)])
        return text.replace(_SPACE, " ").encode("utf-8", "surrogatepass")

    def decode(self, tokens: Iterable[int]) -> str:
        """Return the text of tokens from its start: without the space that was put before it, and without control tokens."""
        text = b"".join([self.bytes_of(t) for t in tokens]).decode("utf-8", "replace")
        return text[1:] if not self.by_merges and self._spaced and text.startswith(" ") else text

    def stream(self) -> "TextStream":
        """Return an object that turns the tokens after a prompt into text, one after the other."""
        return TextStream(self)


class TextStream:
    """Text of tokens as they come. Bytes of a character that is not complete wait for the next token."""

    def __init__(self, tokenizer: Tokenizer):
        self._tokenizer = tokenizer
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def add(self, token: int) -> str:
        """Return the text that a token completes."""
        return self._decoder.decode(self._tokenizer.bytes_of(token))

    def finish(self) -> str:
        """Return a sign for bytes that make no character, or nothing."""
        return self._decoder.decode(b"", True)


class _Special:
    """Tokens that are cut out of a text before all else: the longest at the first position at which one begins."""

    def __init__(self, ids: dict[str, int]):
        self.ids = {text: i for text, i in ids.items() if text}
        self.lengths: dict[str, list[int]] = {}         # by the first character, longest first
        for text in sorted(self.ids, key=len, reverse=True):
            lengths = self.lengths.setdefault(text[0], [])
            if len(text) not in lengths:
                lengths.append(len(text))
        first = "".join([re.escape(character) for character in self.lengths])
        self.starts = re.compile(f"[{first}]") if first else None

    def split(self, text: str) -> list:
        """Return a text as a list of texts and numbers of tokens."""
        parts: list = []
        start = at = 0
        while self.starts is not None:
            match = self.starts.search(text, at)
            if match is None:
                break
            at = match.start()
            size = next((n for n in self.lengths[text[at]] if text[at:at + n] in self.ids), 0)
            if size:
                parts += [text[start:at]] * (start < at) + [self.ids[text[at:at + size]]]
                start = at + size
            at += size or 1
        return parts + [text[start:]] * (start < len(text))


def _pair(merge: str) -> tuple[str, str]:
    """Return the two parts of a merge; a part may begin with a space."""
    at = merge.find(" ", 1)
    if at < 0:
        raise FileError(f"tokenizer.ggml.merges has {shown(merge)}, which are no two parts")
    return merge[:at], merge[at + 1:]
