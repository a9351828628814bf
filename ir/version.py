"""The version of ingot: what the package says of itself, and what files that it writes say of their writer."""

VERSION = "0.1.0"
