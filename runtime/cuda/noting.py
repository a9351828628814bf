"""Whether this thread notes what it asks of the driver (`recipes.py`): whoever asks for something tells the notes."""

import threading
from typing import Any


class _Thread(threading.local):
    notes: Any = None


thread = _Thread()
