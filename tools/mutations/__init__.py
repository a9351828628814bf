"""Mutation testing: does a test fail when one line of the product is wrong?

    python -m tools.mutations map           which tests execute which functions (once; as long as `make test` or longer)
    python -m tools.mutations run           plants 300 mutations and the known ones, runs the tests that matter, lists survivors
    python -m tools.mutations table         the table of a run, with what `equivalents.toml` says by now

Data: `areas.toml` (what is mutated), `known.toml` (mutations that are always planted), `equivalents.toml` (mutations that
change no behaviour, each with its reason). Order of the files: `functions`, `kinds`, `sites` (where one can mutate);
`hits`, `record`, `only` (loaded into the processes of tests); `tests_that_matter`, `run`, `table`. Nothing here imports the
product. Maps, copies of the tree and results lie outside of it, in the folder that `--folder` names.
"""
