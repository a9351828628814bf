"""Prompts of conversations, by the chat template of a model."""

import json
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..ir.errors import ArgumentError, FileError
from ..ir.requirements import install

_PROGRAM = Path(__file__).with_name("chat_render.py")
_SECONDS = 20.0         # until the program is ended
_FORMATS = ("%Y-%m-%d", "%d %b %Y", "%B %d, %Y", "%d %B %Y", "%Y")      # of today's date, as templates ask for it


def render_chat(template: str, messages: Sequence[Any], *, begin: str = "", end: str = "", reply: bool = True,
                **variables: Any) -> str:
    """Return the prompt for messages such as {"role": "user", "content": "Hello"}.

    begin, end   texts of the tokens at the start and the end of texts (`bos_token`, `eos_token`)
    reply        whether the prompt ends with the start of the reply
    variables    further ones that the template reads, such as `enable_thinking`
    """
    check_messages(messages)
    known = {"messages": list(messages), "bos_token": begin, "eos_token": end, "add_generation_prompt": reply,
             "strftime_now": {text: time.strftime(text) for text in _FORMATS}, **variables}
    try:
        text = json.dumps({"template": template, "variables": known})
    except (TypeError, ValueError) as e:
        raise ArgumentError(f"messages hold texts, numbers, lists and dicts: {e}") from None
    try:
        done = subprocess.run([sys.executable, "-P", str(_PROGRAM)], input=text, capture_output=True, text=True,
                              encoding="utf-8", timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        raise FileError(f"the chat template did not end within {_SECONDS:.0f} seconds") from None
    try:
        result = json.loads(done.stdout)
    except ValueError:
        raise FileError("the chat template was ended: it took more time or memory than a prompt needs") from None
    if "missing" in result:
        raise ArgumentError(f"chat templates need {result['missing']}: {install(result['missing'])}")
    if "error" in result:
        raise FileError(result["error"])
    return result["prompt"]


def check_messages(messages):
    """Raise unless messages are dicts with a role."""
    if not isinstance(messages, (list, tuple)) or not messages:
        raise ArgumentError("a chat is a list of messages with at least one")
    for message in messages:
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise ArgumentError('a message is a dict such as {"role": "user", "content": "Hello"}')
