"""Jobs for executors, in a module that a worker imports quickly."""

import os
import signal


def square(x):
    return x * x


def die_once(path):
    """Kill the worker's own process in the first attempt."""
    if not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return path.name


def always_die(path):
    with path.open("a") as file:
        file.write("x")
    os.kill(os.getpid(), signal.SIGKILL)


def kill_or_name(name):
    if name == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    return name


def note_and_name(path):
    path.touch()
    return path.name


def fail(item):
    raise ZeroDivisionError(f"item {item}")
