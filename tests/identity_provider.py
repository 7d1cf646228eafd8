"""A real identity provider, npm's oidc-provider, started here; installed into a cache folder if it may be."""

import os
import re
import shutil
import socket
import subprocess
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urljoin

import httpx

NAME = "oidc-provider@9"
FOLDER = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "errorfloor-tests" / "oidc-provider-9"
SECRET = "s" * 40


def missing():
    """Install it if it is not there; say why it cannot be, if so."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        return "node and npm are missing"
    if (FOLDER / "node_modules" / "oidc-provider" / "lib" / "index.js").exists():
        return None
    FOLDER.mkdir(parents=True, exist_ok=True)
    command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(FOLDER), NAME]
    try:
        done = subprocess.run(command, capture_output=True, timeout=120)
    except subprocess.TimeoutExpired:
        return f"npm could not install {NAME}"
    return None if done.returncode == 0 else f"npm could not install {NAME}"


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()[1]


@contextmanager
def identity_provider(redirect):
    """Run the provider; give its issuer."""
    issuer = f"http://127.0.0.1:{free_port()}"
    script = Path(__file__).with_suffix(".mjs")
    process = subprocess.Popen(
        ["node", "--no-warnings", script, FOLDER, issuer, redirect],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "NODE_ENV": "test"},
    )
    try:
        for line in process.stdout:
            if line.strip() == "ready":
                break
        else:
            raise AssertionError("the identity provider did not start")
        yield issuer
    finally:
        process.terminate()
        process.wait(timeout=30)
        process.stdout.close()


def sign_in_at(issuer, url, login):
    """Sign in at the provider as a browser does; give the address that it leads back to."""
    with httpx.Client(trust_env=False, timeout=30) as browser:
        for _ in range(12):
            reply = browser.get(url)
            if reply.status_code == 200:
                action = re.search(r'action="([^"]+)"', reply.text)[1]
                prompt = re.search(r'name="prompt" value="(\w+)"', reply.text)[1]
                reply = browser.post(action, data={"prompt": prompt, "login": login, "password": "x"})
            url = urljoin(url, reply.headers["location"])
            if not url.startswith(issuer):
                return url
    raise AssertionError("the provider led nowhere")
