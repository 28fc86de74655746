"""For Starlette and FastAPI: a dependency that checks the token of a request, the responses to refusals, and the metadata document."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from .errors import ResourceError
from .resource import ProtectedResource
from .token import AccessToken, Needs


def require_token(
    resource: ProtectedResource,
    scopes: Sequence[str] = (),
    *,
    max_age: int | None = None,
    acr_values: Sequence[str] | None = None,
) -> Callable[[Request], Awaitable[AccessToken]]:
    """
    A dependency of FastAPI: `token: Annotated[AccessToken, Depends(require_token(resource, ["notes.read"]))]`. In a handler of Starlette:
    `token = await require_notes(request)`. A slow authorization server stops no other call: the check runs in a thread.
    """
    needs = Needs(tuple(scopes), max_age, acr_values)

    async def check(request: Request) -> AccessToken:
        authorization = request.headers.getlist("authorization")
        return await run_in_threadpool(resource.check, authorization, needs, query=request.url.query)

    return check


def answer_refusals(app: Starlette, resource: ProtectedResource) -> None:
    """Answers every refusal of `require_token`, `resource.require`, `resource.approve` and `resource.draw`."""

    def answer(_: Request, error: Exception) -> Response:
        assert isinstance(error, ResourceError)
        resource.report(error)
        return JSONResponse(error.body, error.status, error.headers, media_type=error.content_type)

    app.add_exception_handler(ResourceError, answer)


def serve_metadata(app: Starlette, resource: ProtectedResource) -> None:
    """Serves the metadata document (RFC 9728). Clients in browsers read the document from any origin."""
    cross_origin = {
        "Access-Control-Allow-Origin": "*",
        "Access-Control-Allow-Methods": "GET, HEAD",
        "Access-Control-Allow-Headers": "*",
    }

    def answer(request: Request) -> Response:
        if request.method == "OPTIONS":
            return Response(status_code=204, headers=cross_origin)
        headers = {**cross_origin, "Cache-Control": "public, max-age=300", "X-Content-Type-Options": "nosniff"}
        return JSONResponse(resource.metadata, headers=headers)

    app.add_route(resource.metadata_path, answer, methods=["GET", "HEAD", "OPTIONS"], include_in_schema=False)
