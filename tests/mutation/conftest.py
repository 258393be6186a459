"""Nothing here is a test: `make mutants` runs these modules."""

collect_ignore_glob = ["*.py"]
