"""The version of ingot, which the package reports and which its files name as their writer."""

VERSION = "0.1.0"
