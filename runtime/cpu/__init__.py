"""The CPU: compiling and loading kernels, threads, memory, and the products and kernels that run on them."""
