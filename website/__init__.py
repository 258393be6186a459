"""What builds the documentation's site: hooks of mkdocs, the pages of the reference, and drawings."""
