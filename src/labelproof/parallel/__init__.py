"""Compiled work on several cores: on the threads that torch keeps awake where there are some, else on our own."""
