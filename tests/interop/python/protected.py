"""Protected servers in Python, each with an authorization server of its own.

    protected.py sdk TOKEN-SECONDS      the SDK's server and its authorization server
    protected.py fastmcp TOKEN-SECONDS  FastMCP with its in-memory provider

Prints a line `READY {...}`, answers each line of input with the requests of the authorization server, `REQUESTS [...]`,
and ends when its input ends.
"""

import asyncio
import json
import socket
import sys
from urllib.parse import parse_qs

import uvicorn
from fastmcp import FastMCP
from fastmcp.server.auth.providers import in_memory
from mcp.server.auth.middleware.auth_context import get_access_token
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions, RevocationOptions
from mcp.server.mcpserver import MCPServer

READ = "orders:read"
SCOPES = [READ, "orders:write", "orders:delete"]
ENDPOINTS = {"/register": "Registration", "/authorize": "Authorization", "/token": "Token"}


class Recorder:
    """Records the requests to the authorization server in front of an application."""

    def __init__(self, app):
        self.app = app
        self.requests = []

    async def __call__(self, scope, receive, send):
        endpoint = ENDPOINTS.get(scope.get("path"))
        if scope["type"] != "http" or endpoint is None:
            return await self.app(scope, receive, send)
        body = b""
        while True:
            message = await receive()
            body += message.get("body", b"")
            if not message.get("more_body"):
                break
        query = scope["query_string"] if endpoint == "Authorization" else body
        fields = {} if endpoint == "Registration" else parse_qs(query.decode())
        one = lambda name: fields.get(name, [None])[0]
        request = {
            "endpoint": endpoint,
            "parameters": list(fields),
            "grant": one("grant_type"),
            "resource": one("resource"),
            "scope": one("scope"),
        }
        self.requests.append(request)

        async def replay():
            return {"type": "http.request", "body": body, "more_body": False}

        async def record(message):
            if message["type"] == "http.response.start":
                request["status"] = message["status"]
            await send(message)

        await self.app(scope, replay, record)


def read_orders() -> str:
    """Tells who calls."""
    token = get_access_token()
    return json.dumps({"subject": token.client_id, "scopes": token.scopes})


def build(kind, origin, url):
    registration = ClientRegistrationOptions(enabled=True, valid_scopes=SCOPES, default_scopes=[READ])
    options = {
        "client_registration_options": registration,
        "revocation_options": RevocationOptions(enabled=True),
        "required_scopes": [READ],
    }
    provider = in_memory.InMemoryOAuthProvider(base_url=origin, **options)
    if kind == "fastmcp":
        server = FastMCP("protected", auth=provider)
        server.tool(read_orders)
        return server.http_app(path="/mcp")
    settings = AuthSettings(issuer_url=origin, resource_server_url=url, validate_token_resource=False, **options)
    server = MCPServer("protected", auth_server_provider=provider, auth=settings)
    server.tool()(read_orders)
    return server.streamable_http_app()


async def answer_input(recorder, server):
    lines = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(lines)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    while await lines.readline():
        print("REQUESTS " + json.dumps(recorder.requests), flush=True)
    server.should_exit = True


async def main(kind, seconds):
    in_memory.DEFAULT_ACCESS_TOKEN_EXPIRY_SECONDS = seconds
    listener = socket.create_server(("127.0.0.1", 0))
    origin = f"http://127.0.0.1:{listener.getsockname()[1]}"
    url = f"{origin}/mcp"
    recorder = Recorder(build(kind, origin, url))
    config = uvicorn.Config(recorder, log_level="error", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    print("READY " + json.dumps({"url": url}), flush=True)
    await asyncio.gather(server.serve(sockets=[listener]), answer_input(recorder, server))


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
