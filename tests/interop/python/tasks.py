"""Tasks with FastMCP, over standard streams.

    tasks.py serve              a server whose tools become tasks
    tasks.py call COMMAND...    a client of the server that the command starts; prints what it found, as JSON
"""

import asyncio
import json
import sys
from dataclasses import dataclass

from fastmcp import Client, Context, FastMCP
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError
from fastmcp_tasks import TasksExtension, call_tool_task
from mcp_types import ElicitRequest, ElicitRequestFormParams, InputRequiredResult

REVISION = "2026-07-28"


@dataclass
class Name:
    name: str


def serve():
    server = FastMCP("tasks")
    server.add_extension(TasksExtension())

    @server.tool(task=True)
    async def compute(label: str) -> str:
        await asyncio.sleep(0.2)
        return f"computed {label}"

    @server.tool(task=True)
    async def fail() -> str:
        raise ToolError("there is no paint")

    # A task asks with a result, and runs again with the answers.
    @server.tool(task=True)
    async def greet(context: Context):
        answers = context.input_responses
        if not answers:
            schema = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
            form = ElicitRequestFormParams(message="Who are you?", requested_schema=schema)
            return InputRequiredResult(input_requests={"who": ElicitRequest(params=form)})
        return f"Hello, {answers['who'].content['name']}!"

    @server.tool(task=True)
    async def sleep() -> str:
        await asyncio.sleep(600)
        return "slept"

    server.run("stdio", show_banner=False)


async def call(command):
    async def answer(message, response_type, params, context):
        return Name(name="Ada")

    transport = StdioTransport(command=command[0], args=command[1:])
    async with Client(transport, mode=REVISION, elicitation_handler=answer) as client:
        found = {}
        found["computed"] = (await client.call_tool("compute", {"label": "a"})).content[0].text
        try:
            await client.call_tool("fail", {})
            found["failed"] = "no error"
        except ToolError as error:
            found["failed"] = str(error)
        found["greeting"] = (await client.call_tool("greet", {})).content[0].text
        task = await call_tool_task(client, "sleep", {})
        found["working"] = (await task.status()).status
        await task.cancel()
        found["cancelled"] = (await task.status()).status
        print(json.dumps(found), flush=True)


if sys.argv[1] == "serve":
    serve()
else:
    asyncio.run(call(sys.argv[2:]))
