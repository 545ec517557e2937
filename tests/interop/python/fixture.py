"""A server of FastMCP with one thing of each kind, over standard streams."""

from dataclasses import dataclass

from fastmcp import Context, FastMCP
from fastmcp.exceptions import ToolError

server = FastMCP("fixture", version="1.0.0")


@dataclass
class Sum:
    sum: int


@server.tool
def add(a: int, b: int) -> Sum:
    return Sum(a + b)


@server.tool
async def slow(steps: int, context: Context) -> str:
    for step in range(steps):
        await context.report_progress(step + 1, steps)
    return "done"


@server.tool
def fail(text: str) -> str:
    raise ToolError(text)


@server.resource("fixture://static", mime_type="text/plain")
def static() -> str:
    return "This text never changes."


@server.resource("fixture://item/{name}", mime_type="text/plain")
def item(name: str) -> str:
    return f"This is item {name}."


@server.prompt
def greet(name: str, language: str) -> str:
    return f"Greet {name} in {language}."


server.run("stdio", show_banner=False)
