"""``python -m labelproof`` is the command line."""

from labelproof.cli import main

if __name__ == "__main__":
    main()
