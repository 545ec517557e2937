"""The echo tool with the Python SDK, for `cargo xtask bench`: `echo.py stdio`, `http` (as its README
has it, with sessions) or `tuned` (without sessions, answers in JSON). The port is the first line of
stdout. Logging is turned down: as shipped it writes lines for each request.
"""

import socket
import sys

import uvicorn
from mcp.server import MCPServer
from pydantic import BaseModel

mcp = MCPServer("echo", log_level="WARNING")


class Echoed(BaseModel):
    message: str


@mcp.tool()
def echo(message: str) -> Echoed:
    """Say it again."""
    return Echoed(message=message)


def http(**options):
    app = mcp.streamable_http_app(**options)
    # With its protocol named: asyncio sets TCP_NODELAY on such sockets alone, as on its own.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])


{
    "stdio": mcp.run,
    "http": http,
    "tuned": lambda: http(stateless_http=True, json_response=True),
}[sys.argv[1]]()
