import os

from authlib.integrations.base_client import OAuthError
from authlib.integrations.starlette_client import OAuth
from fastapi import FastAPI, Request
from fastapi.responses import HTMLResponse, RedirectResponse
from fastapi.staticfiles import StaticFiles
from starlette.middleware.sessions import SessionMiddleware

APP_URL = os.environ.get("APP_URL", "http://localhost:3000")
ISSUER = os.environ["ISSUER"]

app = FastAPI()
app.add_middleware(
    SessionMiddleware,
    secret_key=os.environ["SESSION_SECRET"],
    same_site="lax",
    https_only=APP_URL.startswith("https:"),
)
app.mount("/static", StaticFiles(directory="static"))

grantor = OAuth().register(
    "grantor",
    server_metadata_url=f"{ISSUER}/.well-known/openid-configuration",
    client_id=os.environ["CLIENT_ID"],
    client_secret=os.environ["CLIENT_SECRET"],
    client_kwargs={"scope": "openid wallet", "code_challenge_method": "S256"},
)


@app.get("/", response_class=HTMLResponse)
def home(request: Request, failed: bool = False) -> str:
    wallet = request.session.get("wallet")
    alert = '<p role="alert">You are not signed in. Try again.</p>' if failed else ""
    return PAGE.format(content=alert + (SIGNED_IN.format(wallet=wallet) if wallet else SIGNED_OUT))


@app.get("/login")
async def login(request: Request):
    return await grantor.authorize_redirect(request, f"{APP_URL}/callback")


@app.get("/callback")
async def callback(request: Request):
    # RFC 9207, which Authlib does not check
    if request.query_params.get("iss") != ISSUER:
        return RedirectResponse("/?failed=true")
    try:
        token = await grantor.authorize_access_token(request)
    except OAuthError:
        return RedirectResponse("/?failed=true")
    request.session["wallet"] = token["userinfo"]["sub"]
    return RedirectResponse("/")


@app.post("/logout")
def logout(request: Request):
    request.session.clear()
    return RedirectResponse("/", status_code=303)


@app.get("/me")
def me(request: Request):
    return {"wallet": request.session.get("wallet")}


PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>my-grantor-app</title>
<link rel="stylesheet" href="/static/style.css">
<main>
<h1>my-grantor-app</h1>
{content}
</main>
</html>
"""

SIGNED_OUT = """<p>Sign in with your wallet. It signs one text, which costs nothing and transfers nothing.</p>
<p><a class="button" id="sign-in" href="/login">Sign in with your wallet</a></p>"""

# The address comes from Grantor, and has letters and digits only.
SIGNED_IN = """<p>You are signed in as</p>
<p><code id="wallet">{wallet}</code></p>
<form method="post" action="/logout"><button class="button quiet" id="sign-out">Sign out</button></form>"""
