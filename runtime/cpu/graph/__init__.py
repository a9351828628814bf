"""Run whole graphs: a plan of steps, most of them one native call.

Way in: `program.CompiledGraph(graph, kernel_of)`, `eager.kernel_for(op)`, `composites` for eager composites and
`inplace_kernels.writer_for(op)`. All find the kernel of an operator by `families.find(op)`. A compiled graph gives the bits
that its operators give one by one. Knows nothing of tensors or tracing.
"""
