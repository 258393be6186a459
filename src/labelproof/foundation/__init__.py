"""What every other room builds on: arguments, files of arrays, threads, progress, compilation, optional packages."""
