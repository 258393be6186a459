"""The trusted core: what a verdict claims, what proves it, and how a proof is kept and checked. See README.md here.

It imports nothing of the search, and this file imports nothing at all, so that `standalone` runs without numpy.
"""
