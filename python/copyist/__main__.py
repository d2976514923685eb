"""The command `copyist`."""

import sys

from . import run


def main():
    """Run the command with the arguments of this program."""
    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
