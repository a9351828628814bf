"""`python -m ingot.tools.manual FOLDER` writes the generated pages of the manual."""

import argparse
from pathlib import Path

from . import write

parser = argparse.ArgumentParser(prog="python -m ingot.tools.manual", description=__doc__)
parser.add_argument("folder", type=Path)
print(write(parser.parse_args().folder), "pages")
