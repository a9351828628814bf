"""Drawings of a graph: `view` gives networkx, DOT and SVG; `layout` places boxes in layers; `drawing` writes the SVG."""
