"""`heros serve`: a model over HTTP that answers and learns, and its page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from heros._base.extras import needed
from heros.cli import options
from heros.cli.app import app, say
from heros.cli.checkpoints import told
from heros.cli.described import described
from heros.ensemble import Heros
from heros.errors import HerosError, ParameterError

__all__ = ["serve_command"]

PACKAGES = ("httptools", "orjson", "prometheus_client")


@app.command("serve")
def serve_command(
    model: Annotated[
        Path | None, typer.Option(help="A file that Heros.save wrote; else a new model as described.")
    ] = None,
    pool: Annotated[
        str | None,
        typer.Option("--pool", help="As for heros run; without one, thirteen models of eight kinds."),
    ] = None,
    policy: Annotated[str | None, typer.Option(help="E.g. zeta:0.05@0.2 (see heros policies).")] = None,
    epsilon: options.Epsilon = None,
    k: options.K = None,
    watch: options.WatchName = "all",
    answer: Annotated[str | None, typer.Option("--answer", help="Who answers, as for heros run.")] = None,
    task: Annotated[
        str | None, typer.Option("--task", help="regression if labels are numbers; else they are classes.")
    ] = None,
    seed: options.Seed = 1,
    nominal: Annotated[
        list[str] | None, typer.Option(help="A feature whose numbers are names; several times.")
    ] = None,
    host: Annotated[
        str, typer.Option(help="Where to listen; others than this machine need a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes one that is free.")] = 8000,
    token: Annotated[
        str | None,
        typer.Option(
            envvar="HEROS_TOKEN", help="What requests must bring along, as Authorization: Bearer TOKEN."
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(help="A directory of the service's own; what is there already is gone on with."),
    ] = None,
    every: options.Every = 100_000,
    keys: Annotated[bool, typer.Option("--keys", help="A model per key.")] = False,
    capacity: Annotated[int | None, typer.Option(min=1, help="With --keys: how many in memory.")] = None,
    memory: Annotated[
        int | None, typer.Option(min=1, help="With --keys: how many MB the models in memory may take.")
    ] = None,
    most: Annotated[int, typer.Option(min=1, help="How many instances may wait for their labels.")] = 100_000,
    longest: Annotated[float | None, typer.Option(help="For how many seconds one may wait.")] = None,
    body: Annotated[int, typer.Option(min=1, help="How many MB a request's body may have.")] = 8,
    queue: Annotated[
        int, typer.Option(min=1, help="How many labelled instances may wait to be learnt.")
    ] = 20_000,
    watts: options.Watts = None,
) -> None:
    """Serve a model over HTTP: it answers, learns, and shows on a page how it does.

    Ctrl-C or SIGTERM has it learn what is left, write a checkpoint if there is a directory for it, and end.
    """
    for package in PACKAGES:
        needed(package, "heros serve", "serve")
    from heros.ensemble.keyed import Keyed  # noqa: PLC0415
    from heros.meters import Cpu  # noqa: PLC0415
    from heros.serve.bill import Bill  # noqa: PLC0415
    from heros.serve.checkpoint import CheckpointDirectory  # noqa: PLC0415
    from heros.serve.learners import Learner, ModelPerKey, OneModel  # noqa: PLC0415
    from heros.serve.limits import Limits  # noqa: PLC0415
    from heros.serve.running import serve  # noqa: PLC0415
    from heros.serve.service import Service  # noqa: PLC0415

    said = (pool, policy, epsilon, k, answer, task)
    if model is not None and any(one is not None for one in said):
        raise HerosError("The model of heros serve must be a file or a description. Got both.")
    if not keys and (capacity is not None or memory is not None):
        raise ParameterError.of("capacity", "heros serve", "left out without --keys", capacity or memory)
    heros = (
        Heros.load(model)
        if model
        else described(pool, policy, epsilon, k, watch=watch, answer=answer, task=task, seed=seed)
    )
    store = None if checkpoint is None else CheckpointDirectory(checkpoint)
    learner: Learner = OneModel(heros)
    if keys:
        room = None if memory is None else memory * 1_000_000
        place = None if checkpoint is None else checkpoint / "keys"
        learner = ModelPerKey(Keyed(heros, capacity=capacity, memory=room, directory=place))
    service = Service(
        learner,
        limits=Limits(body=body * 1_000_000, queue=queue),
        most=most,
        longest=longest,
        store=store,
        every=every,
        bill=Bill(Cpu(watts, process=True)),
        nominal=nominal or (),
    )
    if service.history.learnt:
        say(f"heros: goes on after {_instances(service.history.learnt)}")
    with told():
        serve(
            service,
            host=host,
            port=port,
            token=token,
            started=lambda address: say(f"heros: {address} (process {os.getpid()}, Ctrl-C ends it)"),
        )
    say(f"heros: stopped after {_instances(service.history.learnt)}" + _kept(checkpoint))


def _instances(n: int) -> str:
    return "1 instance" if n == 1 else f"{n:,} instances"


def _kept(directory: Path | None) -> str:
    return "" if directory is None else f"; all of it is in {directory}"
