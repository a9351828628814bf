"""Graph to graph, graph to program, program to text. No device is touched here."""
