"""Readers of published data sets in the files in which they are distributed."""
