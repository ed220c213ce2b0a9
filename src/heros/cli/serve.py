"""`heros serve`: predict and train over HTTP, with a status page."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from heros._base.errors import HerosError, ParameterError
from heros._base.extras import needed
from heros.cli import options
from heros.cli.app import app, say
from heros.cli.checkpoints import print_notices
from heros.cli.option_groups import ModelOptions, with_options
from heros.ensemble import Heros
from heros.ensemble.task import Task, task_of

PACKAGES = ("httptools", "orjson", "prometheus_client")
MEMORY = 1000  # default of --memory in MB, with --keys
PARTS = "pool", "policy", "budget", "k", "answer", "task", "explainable", "watch", "burst", "class_weight"
USUAL = {"explainable": False, "watch": "all", "burst": 0}
"""The options that describe a model, and the defaults of those that are not None by default."""


def _token(token: str | None) -> str | None:
    """Return the token; raise an error if its environment variable is empty, which Typer ignores."""
    if token is None and os.environ.get("HEROS_TOKEN") == "":
        raise HerosError(
            "The environment variable HEROS_TOKEN must contain a token or be unset. It is empty."
        )
    return token


@app.command("serve")
@with_options("described", ModelOptions)
def serve_command(
    model: Annotated[
        Path | None,
        typer.Option(help="A model file written by Heros.save; by default, a new model is created."),
    ] = None,
    task: Annotated[str | None, typer.Option(help="regression or classification (the default).")] = None,
    level: Annotated[
        float | None,
        typer.Option(
            help="Predict sets of classes (or intervals for numbers) that contain the true value for this "
            "share of the instances, e.g. 0.9."
        ),
    ] = None,
    on_change: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Send detected changes to this URL, as JSON in POST requests."),
    ] = None,
    nominal: Annotated[
        list[str] | None,
        typer.Option(help="A nominal feature, even if its values are numbers; may be repeated."),
    ] = None,
    classes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="All classes; other labels are rejected. By default, new classes are added.",
        ),
    ] = None,
    host: Annotated[
        str, typer.Option(help="The address to listen on; a token is needed if other machines can reach it.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 picks a free port.")] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="HEROS_TOKEN",
            callback=_token,
            help="The token that requests must send as Authorization: Bearer TOKEN.",
        ),
    ] = None,
    allow_host: Annotated[
        list[str] | None, typer.Option(help="An additional host name that clients may use; may be repeated.")
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            parser=options.directory,
            metavar="PATH",
            help="Write checkpoints to this directory, and continue from the newest one.",
        ),
    ] = None,
    every: Annotated[
        str,
        typer.Option(
            metavar="60s|N",
            help="How often to write a checkpoint: a time such as 60s or 5m, or a number of labels.",
        ),
    ] = "60s",
    keys: Annotated[bool, typer.Option("--keys", help="Train one model per key.")] = False,
    *,
    described: ModelOptions,
    capacity: Annotated[
        int | None, options.of_limits(min=1, help="With --keys: maximum number of models in memory.")
    ] = None,
    memory: Annotated[
        int | None,
        options.of_limits(
            min=1,
            help="With --keys: maximum memory of the models in MB (default 1000). Other models are kept "
            "on disk.",
        ),
    ] = None,
    most: Annotated[
        int, options.of_limits(min=1, help="Maximum number of instances that wait for their labels.")
    ] = 100_000,
    longest: Annotated[
        float | None,
        options.of_limits(
            help="Maximum number of seconds that an instance waits for its label; by default no limit."
        ),
    ] = None,
    waiting_memory: Annotated[
        int, options.of_limits(min=1, help="Maximum memory in MB of the instances that wait for labels.")
    ] = 256,
    body: Annotated[int, options.of_limits(min=1, help="Maximum size of a request's body in MB.")] = 8,
    queue: Annotated[
        int | None,
        options.of_limits(
            min=1,
            help="Maximum number of labelled instances in the training queue (default 20,000). If a "
            "budget or --carbon delays training, the default is as many instances as fit into 256 MB on "
            "disk.",
        ),
    ] = None,
    watts: options.Watts = None,
    carbon: options.CarbonFile = None,
    carbon_delay: options.CarbonDelay = "6h",
) -> None:
    """Serve a model over HTTP: predict, train, and show its performance on a page.

    On Ctrl-C, SIGTERM or SIGHUP the service trains on the queued instances, writes a checkpoint if
    --checkpoint is given, and stops.
    """
    for package in PACKAGES:
        needed(package, "heros serve", "serve")
    from heros.ensemble.keyed import Keyed  # noqa: PLC0415
    from heros.meters import Cpu  # noqa: PLC0415
    from heros.serve.checkpoint import CheckpointDirectory  # noqa: PLC0415
    from heros.serve.energy import Bill  # noqa: PLC0415
    from heros.serve.learners import ModelPerKey, OneModel, ServedLearner  # noqa: PLC0415
    from heros.serve.limits import Limits  # noqa: PLC0415
    from heros.serve.server import serve  # noqa: PLC0415
    from heros.serve.service import Service  # noqa: PLC0415

    asked: Task | None = None if task is None else task_of(task)
    if level is not None:
        asked = replace(asked or task_of("classification"), level=level)  # type: ignore[call-arg]
    values = {**vars(described), "policy": described.policy or described.epsilon, "task": asked}
    given = [name for name in PARTS if values[name] != USUAL.get(name)]
    if not keys and "explainable" in given:
        given.remove("explainable")  # this option can be added to a saved model
    if model is not None and given:
        option = _option(given[0], described.policy, task)
        raise HerosError(
            f"heros serve --model {model} cannot change --{option}, which is part of the saved model. "
            "Omit the option, or train another model with this setting."
        )
    for option, value in (("capacity", capacity), ("memory", memory)):
        if not keys and value is not None:
            raise ParameterError.of(option, "heros serve", "left out unless --keys is given", value)
    heros = Heros.load(model) if model else described.model(asked)
    labels, seconds = every_of(every)
    store = None if checkpoint is None else CheckpointDirectory(checkpoint)
    if store is not None:
        store.expect(keyed=keys)
        if model is not None:
            store.begin_with(model)
        store.expect_same(heros, given)
        if keys and model is None:
            heros = store.initial(heros, given)
    learner: ServedLearner = OneModel(heros, explainable=described.explainable)
    if keys:
        place, room = None if checkpoint is None else checkpoint / "keys", (memory or MEMORY) * 1_000_000
        learner = ModelPerKey(Keyed(heros, capacity=capacity, memory=room, directory=place))
    service = Service(
        learner,
        limits=Limits(body=body * 1_000_000, queue=queue),
        carbon=carbon,
        carbon_delay=carbon_delay,
        most=most,
        longest=longest,
        waiting_bytes=waiting_memory * 1_000_000,
        store=store,
        every=labels,
        seconds=seconds,
        bill=Bill(Cpu(watts, process=True)),
        nominal=nominal or (),
        classes=None if classes is None else [name.strip() for name in classes.split(",")],
        on_change=on_change,
    )
    if service.queued:
        say(f"heros: the training queue holds {_instances(service.queued)}")
    if service.history.learnt:
        say(
            f"heros: continues from the checkpoint in {checkpoint} after {_instances(service.history.learnt)}"
        )
    logging.basicConfig(format="heros: %(message)s")

    def started(address: str) -> None:
        say(f"heros: {address} (process {os.getpid()}, Ctrl-C stops it)")
        if checkpoint is None:
            say("heros: without --checkpoint, the trained model is lost when the service stops")

    with print_notices():
        serve(service, host=host, port=port, token=token, allow_hosts=allow_host or (), started=started)
    kept = "" if checkpoint is None else f"; the checkpoint is in {checkpoint}"
    say(f"heros: stopped after {_instances(service.history.learnt)}{kept}")


def every_of(text: str) -> tuple[int | None, float | None]:
    """Parse the interval between checkpoints: a number of labels, or a number of seconds.

    Examples
    --------
    >>> every_of("60s"), every_of("5m"), every_of("1e5")
    ((None, 60.0), (None, 300.0), (100000, None))
    """
    unit = {"s": 1, "m": 60, "h": 3600}.get(text[-1:])
    if unit is None:
        return options.count(text), None
    return None, float(options.count(text[:-1]) * unit)


def _instances(n: int) -> str:
    return "1 instance" if n == 1 else f"{n:,} instances"


def _option(part: str, policy: str | None, task: str | None) -> str:
    """Return the name of the option with which the user set this part of a model."""
    if part == "policy" and policy is None:
        return "epsilon"
    return "level" if part == "task" and task is None else part.replace("_", "-")
