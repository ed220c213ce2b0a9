"""Everything but the hot paths, and the description of all of it: FastAPI makes the OpenAPI document."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from importlib import resources
from typing import Annotated, Any

import orjson
from fastapi import Depends, FastAPI, Query
from fastapi.responses import HTMLResponse, PlainTextResponse, Response
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ConfigDict, Field

from heros._base.lazy import metadata
from heros.data.schema import schema_plain
from heros.data.values import LARGEST_TARGET
from heros.ensemble import Heros, files
from heros.serve.learners import Many, One
from heros.serve.metrics import Requests, metrics
from heros.serve.service import Service
from heros.serve.state import Picture, leaderboard, why

__all__ = ["application"]

CSP = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
MOST_NOTICES = 50
Text = Annotated[str, Field(max_length=200)]
Name = Text | int
Row = dict[str, Any]

X: dict[str, Any] = {"temperature": 21.5, "room": "hall"}


class Strict(BaseModel):
    """An object with these fields and no others."""

    model_config = ConfigDict(extra="forbid")


class Ask(Strict):
    """An instance to be answered."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"x": X}, {"id": "order 7", "x": X}]})
    x: Row = Field(
        description="Names and values: numbers, texts, dates as text, true and false; null is missing. The "
        "fields of an object have names with a dot, lists are left out. A new name or value is ignored here."
    )
    id: Name | None = Field(None, description="If its label will come later: under which id.")
    key: Name | None = Field(None, description="Whose model, where there is one per key.")


class AskBatch(Strict):
    """Several instances to be answered."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"instances": [{"x": X}, {"x": X}]}]})
    instances: list[Ask] = Field(min_length=1)


class Said(Strict):
    """What the model says."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"answer": "ok", "probabilities": {"ok": 0.9, "alarm": 0.1}}]}
    )
    answer: str | None = Field(description="The class; null before anything was learnt.")
    probabilities: dict[str, float]
    id: Name | None = None


class SaidBatch(Strict):
    """What the model says of several instances."""

    answers: list[Said]


class SaidNumber(Strict):
    """What the model says, of a target that is a number."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"answer": 21.5, "interval": [20.0, 23.1]}]})
    answer: float | None = Field(description="The number; null before anything was learnt.")
    interval: Annotated[list[float], Field(min_length=2, max_length=2)] | None = Field(
        description="Where the target is, at the level of the model's task (0.9, if nothing was said)."
    )
    id: Name | None = None


class SaidNumberBatch(Strict):
    """What the model says of several instances."""

    answers: list[SaidNumber]


class Teach(Strict):
    """A labelled instance, or the label of one that waits under its id."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"x": X, "y": "ok"}, {"id": "order 7", "y": "ok"}]}
    )
    y: float | int | bool | Text = Field(description="The label.")
    x: Row | None = Field(None, description="The instance; left out if it waits.")
    id: Name | None = Field(None, description="The id under which it waits.")
    key: Name | None = Field(None, description="Whose model, where there is one per key.")


class TeachBatch(Strict):
    """Several of them, learnt in this order."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"instances": [{"x": X, "y": "ok"}]}]})
    instances: list[Teach] = Field(min_length=1)


class TeachNumber(Teach):
    """An instance and its target, a number, or the target of one that waits under its id."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"x": X, "y": 21.5}, {"id": "order 7", "y": 20}]}
    )
    y: Annotated[float, Field(ge=-LARGEST_TARGET, le=LARGEST_TARGET)] | Text = Field(
        description="The target: a finite number, which may be written as text."
    )


class TeachNumberBatch(Strict):
    """Several of them, learnt in this order."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"instances": [{"x": X, "y": 21.5}]}]})
    instances: list[TeachNumber] = Field(min_length=1)


class Taken(Strict):
    """It will be learnt."""

    accepted: int


class Refused(Strict):
    """An instance of a batch that cannot be learnt."""

    at: int
    why: str


class TakenBatch(Taken):
    """How many of them will be learnt, of how many the id is not known, and what is wrong with the others."""

    unknown: int
    refused: list[Refused]


class Detail(Strict):
    """What is wrong."""

    detail: str


WRONG: dict[int | str, dict[str, Any]] = {
    400: {"model": Detail, "description": "The body is not JSON."},
    401: {"model": Detail, "description": "The token is not the right one."},
    404: {"model": Detail, "description": "No instance waits under this id, or no model has this key."},
    413: {"model": Detail, "description": "The body is too large."},
    415: {"model": Detail, "description": "The body is not application/json."},
    422: {"model": Detail, "description": "The body is JSON, but no such request."},
    429: {"model": Detail, "description": "There is too much to do: try again later."},
    503: {"model": Detail, "description": "The service learns no more."},
}
WAIT = Query(description="Reply when it is learnt and published.")


def application(service: Service, picture: Picture, requests: Requests, *, secured: bool = False) -> FastAPI:
    """The application that says what the service can do, and shows how it does."""
    app = FastAPI(
        title="HEROS",
        summary="Answers from a model that keeps learning, and trains only what is worth it.",
        version=_version(),
        docs_url=None,  # they would fetch scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
        dependencies=[Depends(HTTPBearer(auto_error=False))] if secured else [],
        responses=WRONG,
    )
    numeric = service.brain.task.numeric
    _add_answers(app, service, *((SaidNumber, SaidNumberBatch) if numeric else (Said, SaidBatch)))
    (_add_learning_numbers if numeric else _add_learning)(app, service)
    _add_views(app, service)
    _add_watching(app, service, picture, requests)
    return app


def _version() -> str:
    """The version of the package."""
    return metadata.version("heros-learn")


# What `heros.serve.wire` serves before it gets here, described.


def _add_answers(app: FastAPI, service: Service, said: type[Strict], said_batch: type[Strict]) -> None:
    @app.post("/answer", summary="Answer", response_model=said, response_model_exclude_unset=True)
    def answer(request: Ask) -> Any:
        """What the model says of an instance. With an id, it waits for its label from now on."""
        return service.answer(_plain(request))

    @app.post(
        "/answer/batch",
        summary="Answer several",
        response_model=said_batch,
        response_model_exclude_unset=True,
    )
    def answer_batch(request: AskBatch) -> Any:
        """The same for several instances; if one is wrong, so is the request."""
        return {"answers": service.answers(list(map(_plain, request.instances)))}


def _add_learning(app: FastAPI, service: Service) -> None:
    @app.post("/learn", summary="Learn", status_code=202)
    def learn(request: Teach, wait: Annotated[bool, WAIT] = False) -> Taken:
        """Learn from an instance and its label, or from a label that came later."""
        return _learnt(service, request)

    @app.post("/learn/batch", summary="Learn from several", status_code=202)
    def learn_batch(request: TeachBatch, wait: Annotated[bool, WAIT] = False) -> TakenBatch:
        """The same for several; those that are wrong are left out, and named."""
        return _all_learnt(service, request.instances)


def _add_learning_numbers(app: FastAPI, service: Service) -> None:
    @app.post("/learn", summary="Learn", status_code=202)
    def learn(request: TeachNumber, wait: Annotated[bool, WAIT] = False) -> Taken:
        """Learn from an instance and its target, or from a target that came later."""
        return _learnt(service, request)

    @app.post("/learn/batch", summary="Learn from several", status_code=202)
    def learn_batch(request: TeachNumberBatch, wait: Annotated[bool, WAIT] = False) -> TakenBatch:
        """The same for several; those that are wrong are left out, and named."""
        return _all_learnt(service, request.instances)


def _learnt(service: Service, request: Teach | TeachNumber) -> Taken:
    service.learn(_plain(request))
    return Taken(accepted=1)


def _all_learnt(service: Service, requests: Sequence[Teach | TeachNumber]) -> TakenBatch:
    taken = service.learn_all(list(map(_plain, requests)))
    refused = [Refused(at=at, why=why) for at, why in taken.refused]
    return TakenBatch(accepted=taken.accepted, unknown=taken.unknown, refused=refused)


def _plain(request: BaseModel) -> dict[str, Any]:
    return request.model_dump(exclude_unset=True)


def _add_views(app: FastAPI, service: Service) -> None:
    @app.get("/model", summary="What it is made of")
    async def model() -> Response:
        """Pool, policy, settings and schema, as plain data, and what is to be known about its columns."""

        def described(one: Heros) -> dict[str, Any]:
            schema = one.schema
            return {
                **files.description(one),
                "instances": 0 if schema is None else one.instances,
                "schema": None if schema is None else schema_plain(schema),
                "notices": service.notices[:MOST_NOTICES],
            }

        return _json(await _looked(service, None, described))

    @app.get("/leaderboard", summary="Who leads")
    async def leaders(key: str | None = None) -> Response:
        """The models, best first: score L, cost γ, how often trained, and whether it is trained now."""
        return _json(await _looked(service, key, leaderboard))

    @app.get("/why", summary="Why these models")
    async def reasons(key: str | None = None) -> Response:
        """Why the models of the last step were trained."""
        return _json(await _looked(service, key, why))


async def _looked(service: Service, key: str | None, look: Any) -> Any:
    """What there is to see of the model, or of that of a key; None if there is none."""
    brain = service.brain
    if isinstance(brain, One):
        return None if key is not None else brain.look(look)
    assert isinstance(brain, Many)
    many = brain
    return await asyncio.to_thread(lambda: many.look(key, look))


def _add_watching(app: FastAPI, service: Service, picture: Picture, requests: Requests) -> None:
    page = resources.files("heros.serve").joinpath("page.html").read_text(encoding="utf-8")

    @app.get("/", summary="The page", response_class=HTMLResponse)
    async def index() -> Response:
        """A page that shows all of it, live."""
        return HTMLResponse(page, headers={"content-security-policy": CSP, "referrer-policy": "no-referrer"})

    @app.get("/state", summary="What the page shows")
    async def state() -> Response:
        """Figures, curves, leaders, the bill, what waits; made anew every second while somebody looks."""
        return _json(await _fresh(picture))

    @app.get("/metrics", summary="For Prometheus", response_class=PlainTextResponse)
    async def prometheus() -> Response:
        """The figures in Prometheus's text form."""
        return PlainTextResponse(
            metrics(await _fresh(picture), requests), media_type="text/plain; version=0.0.4; charset=utf-8"
        )

    @app.get("/health", summary="Whether it is well")
    async def health() -> Response:
        """200 if it answers and learns, 503 if it learns no more."""
        well = service.fault is None
        said = {"status": "ok" if well else "learns no more", "queued": service.queued}
        said |= {"notices": len(service.notices)}
        return _json(said, 200 if well else 503)


async def _fresh(picture: Picture) -> dict[str, Any]:
    """What there is to see, a second old at most, unless there is very much to do."""
    picture.ask()
    for _ in range(80):
        if picture.is_fresh:
            break
        await asyncio.sleep(0.025)
    return picture.state


def _json(what: Any, status: int = 200) -> Response:
    if what is None:
        return Response(json.dumps({"detail": "No model has this key."}), 404, media_type="application/json")
    options = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
    return Response(orjson.dumps(what, option=options), status, media_type="application/json")
