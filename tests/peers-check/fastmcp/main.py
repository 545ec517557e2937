"""The code of FastMCP that the guide shows, and that it does what the guide says.

    python3 -m venv V && V/bin/pip install -r requirements.txt && V/bin/python main.py
"""

import asyncio
from dataclasses import dataclass

from fastmcp import Client, Context, FastMCP
from fastmcp.dependencies import Depends
from fastmcp.exceptions import ToolError
from fastmcp.server.middleware import Middleware, MiddlewareContext


def tool():
    mcp = FastMCP("calc")

    @mcp.tool
    def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    return mcp


def resource():
    mcp = FastMCP("notes")

    @mcp.resource("notes://{id}")
    def note(id: str) -> str:
        return f"This is note {id}."

    return mcp


def context():
    mcp = FastMCP("work")

    @mcp.tool
    async def work(ctx: Context) -> str:
        """Work in five steps."""
        for step in range(1, 6):
            await ctx.report_progress(step, 5, f"step {step}")
        return "done"

    return mcp


def dependency():
    mcp = FastMCP("users")

    async def user() -> str:
        return "ada"

    @mcp.tool
    def whoami(user: str = Depends(user)) -> str:
        """Say who is asking."""
        return user

    return mcp


def error():
    mcp = FastMCP("errors", mask_error_details=True)

    @mcp.tool
    def divide(a: float, b: float) -> float:
        """Divide two numbers."""
        if b == 0:
            raise ToolError("the divisor is zero")
        return a / b

    return mcp


def ask():
    mcp = FastMCP("deploy")

    @mcp.tool
    async def deploy(ctx: Context) -> str:
        """Deploy to production."""
        answer = await ctx.elicit("Deploy to production?", response_type=bool)
        if answer.action == "accept" and answer.data:
            return "deployed"
        return "left as it was"

    return mcp


def middleware():
    mcp = tool()

    class Log(Middleware):
        async def on_call_tool(self, context: MiddlewareContext, call_next):
            print(context.message.name, context.message.arguments)
            return await call_next(context)

    mcp.add_middleware(Log())
    return mcp


def mount():
    main = FastMCP("all")
    main.mount(tool(), namespace="calc")
    return main


async def main():
    async with Client(tool()) as client:
        assert (await client.call_tool("add", {"a": 1, "b": 2})).data == 3
    async with Client(resource()) as client:
        assert (await client.read_resource("notes://3"))[0].text == "This is note 3."
    async with Client(context()) as client:
        assert (await client.call_tool("work", {})).data == "done"
    async with Client(dependency()) as client:
        assert (await client.call_tool("whoami", {})).data == "ada"
    async with Client(error()) as client:
        result = await client.call_tool("divide", {"a": 1, "b": 0}, raise_on_error=False)
        assert "the divisor is zero" in result.content[0].text
    async with Client(middleware()) as client:
        assert (await client.call_tool("add", {"a": 1, "b": 2})).data == 3
    async with Client(mount()) as client:
        assert [tool.name for tool in await client.list_tools()] == ["calc_add"]

    async def agree(*_):
        return {"value": True}

    for mode, text in [
        ("legacy", "deployed"),
        ("2026-07-28", "elicitation via server-initiated requests is unavailable"),
    ]:
        async with Client(ask(), mode=mode, elicitation_handler=agree) as client:
            result = await client.call_tool("deploy", {}, raise_on_error=False)
            assert text in result.content[0].text, result


asyncio.run(main())
