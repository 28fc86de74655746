import json
import os
import subprocess

import httpx
import pytest
from fastapi.testclient import TestClient


@pytest.fixture(scope="session")
def grantor():
    command = ["npx", "test-issuer", "--json", "--file", "grantor.json"]
    # The issuer ends when its standard input closes: at the end of this block, or with pytest.
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        yield json.loads(process.stdout.readline())


@pytest.fixture
def browser(grantor):
    client = grantor["clients"][0]
    os.environ |= {
        "ISSUER": grantor["issuer"],
        "CLIENT_ID": client["client_id"],
        "CLIENT_SECRET": client["client_secret"],
        "SESSION_SECRET": "a secret of this test",
    }
    from main import app

    return TestClient(app, base_url="http://localhost:3000", follow_redirects=False)


def test_no_user_is_signed_in_at_first(browser):
    assert browser.get("/me").json() == {"wallet": None}


def test_the_sign_in_leads_to_the_login_page_of_grantor(browser, grantor):
    to = browser.get("/login").headers["location"]
    page = httpx.get(to, follow_redirects=True)
    assert str(page.url).startswith(grantor["login_url"])
    assert "my-grantor-app" in page.text
