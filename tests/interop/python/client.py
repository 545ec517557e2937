"""A client of FastMCP that prints what a server has, and what it answers to calls, as JSON.

    client.py ERA CALLS COMMAND...
"""

import asyncio
import json
import os
import sys

from fastmcp import Client
from fastmcp.client.transports import StdioTransport
from fastmcp.exceptions import ToolError

MODES = {"legacy": "legacy", "modern": "2026-07-28"}


def plain(value):
    plain = value.model_dump(mode="json", by_alias=True, exclude_none=True)
    meta = plain.get("_meta", {})
    # A bridge names itself.
    meta.pop("io.modelcontextprotocol/serverInfo", None)
    if not meta:
        plain.pop("_meta", None)
    return plain


def by(key, items):
    return {item[key]: item for item in map(plain, items)}


async def main(era, calls, command):
    transport = StdioTransport(command=command[0], args=command[1:], env=dict(os.environ), keep_alive=False)
    async with Client(transport, mode=MODES[era]) as client:
        found = {
            "tools": by("name", await client.list_tools()),
            "prompts": by("name", await client.list_prompts()),
            "resources": by("uri", await client.list_resources()),
            "templates": by("uriTemplate", await client.list_resource_templates()),
        }
        for tool, arguments in calls["tools"]:
            try:
                result = await client.call_tool_mcp(tool, arguments)
                found[f"call {tool}"] = plain(result)
            except ToolError as error:
                found[f"call {tool}"] = str(error)
        for name, arguments in calls["prompts"]:
            found[f"prompt {name}"] = plain(await client.get_prompt_mcp(name, arguments))
        for uri in calls["resources"]:
            found[f"read {uri}"] = plain(await client.read_resource_mcp(uri))
        print(json.dumps(found, indent=1, sort_keys=True), flush=True)


asyncio.run(main(sys.argv[1], json.loads(sys.argv[2]), sys.argv[3:]))
