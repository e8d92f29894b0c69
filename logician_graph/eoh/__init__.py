"""Evolution of Heuristics (arXiv 2401.02051): a model proposes heuristics, measured runs decide which survive."""
