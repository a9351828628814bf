"""Pictures, tables and texts of results for people: files, terminals and notebooks.

Way in: `view` draws a graph as SVG or DOT and gives networkx; `tables` writes tables and shortens long texts. Below `view`,
`layout` places boxes in layers and `drawing` writes the parts of an SVG. Nothing here loads a heavy package.
"""
