"""The command line: `ringlab <command>`, or `python -m ringlab <command>`.

Each command lives in the module of its subject, as `add_arguments(parser)` and `command(options)`, which returns the
exit code. Nothing but the chosen module is imported.
"""

import argparse
import importlib
import sys

from .verdicts import Interrupted, RinglabError

COMMANDS = {
    "run": ("terminal", "run an all-reduce and print its steps as a table"),
    "doctor": ("doctor", "say whether this machine is ready for the lab"),
    "check": ("judge.command", "judge an all-reduce in a file: right, or where it goes wrong first"),
    "bench": ("bench", "measure our all-reduce beside MPI and Gloo"),
    "fit": ("terminal_fit", "measure what a message and a byte cost here, and fit alpha, beta and gamma"),
    "faultstorm": ("faultstorm.command", "throw faults at the lab and check that each ends in one right verdict"),
    "lab": ("lab.start", "start JupyterLab at your copy of the lessons"),
    "new-copy": ("lab.copies", "make a fresh working copy of a lesson, beside the old one"),
}


def main(arguments=None):
    """Run one command; the exit code."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    parser = argparse.ArgumentParser(
        prog="ringlab",
        description="A ring all-reduce you can watch, time, break and mend.",
        epilog="ringlab COMMAND --help tells more. The lessons: python3 lab.py",
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    asked = next((word for word in arguments if not word.startswith("-")), None)
    for name, (module, text) in COMMANDS.items():
        command = commands.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".")
        if name == asked:
            subject = importlib.import_module(f".{module}", __package__)
            subject.add_arguments(command)
            command.set_defaults(play=subject.command)
    options = parser.parse_args(arguments)
    try:
        return options.play(options) or 0
    except (RinglabError, Interrupted) as error:
        print("\n".join(error._render_traceback_()), file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader of our output has seen enough
        sys.stderr.close()
        return 1


if __name__ == "__main__":
    sys.exit(main())
