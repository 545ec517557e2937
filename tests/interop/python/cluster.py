"""The work of the Python client with instances behind a proxy; one line of JSON for each outcome.

    cluster.py legacy|modern URL SECONDS
"""

import asyncio
import json
import sys
import time
import warnings

from mcp.client.client import Client
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitResult

# Methods of older revisions.
warnings.simplefilter("ignore")

LIMIT = 25
SOON = 8
TWICE = 0.2
MODES = {"legacy": "legacy", "modern": "2026-07-28"}

era, url, seconds = sys.argv[1:]
name = f"Python {era}"
end = time.monotonic() + float(seconds)
told = []


class Told(Exception):
    """A change that was told more than once, or not at all: this client gives its stream up after two that broke."""

    def __init__(self, uri, times):
        super().__init__(uri)
        self.outcome = "repeated" if times else "missed"


def show(action, began, outcome, text=""):
    millis = int((time.monotonic() - began) * 1000)
    line = {"client": name, "action": action, "outcome": outcome, "text": text, "millis": millis}
    print(json.dumps(line), flush=True)


async def act(action, run):
    began = time.monotonic()
    try:
        async with asyncio.timeout(LIMIT):
            wrong = await run
        show(action, began, "done" if wrong is None else "wrong", wrong or "")
    except Told as told:
        show(action, began, told.outcome, str(told))
    except TimeoutError:
        show(action, began, "silence", "no end")
    except MCPError as error:
        timed_out = "timed out while waiting" in str(error).lower()
        show(action, began, "silence" if timed_out else "named", str(error))
    except Exception as error:
        show(action, began, "cut", f"{type(error).__name__} {error}")


async def answer(context, params):
    return ElicitResult(action="accept", content={"answer": params.message})


async def receive(message):
    uri = getattr(getattr(message, "params", None), "uri", None)
    if uri is not None:
        told.append(str(uri))


async def call(client, tool, arguments, wanted):
    result = await client.call_tool(tool, arguments)
    text = "".join(block.text for block in result.content)
    if text == wanted:
        return None
    if result.is_error:
        raise MCPError(-1, text)
    return text


async def watch(client, uri):
    if era == "modern":
        async with client.listen(resource_subscriptions=[uri]) as changes:
            wrong = await call(client, "touch", {"uri": uri}, "touched")
            if wrong is not None:
                return wrong
            try:
                async with asyncio.timeout(SOON):
                    await anext(aiter(changes))
            except (TimeoutError, StopAsyncIteration):
                raise Told(uri, 0) from None
        return None
    await client.subscribe_resource(uri)
    wrong = await call(client, "touch", {"uri": uri}, "touched")
    if wrong is not None:
        return wrong
    limit = time.monotonic() + SOON
    while uri not in told and time.monotonic() < limit:
        await asyncio.sleep(0.01)
    await asyncio.sleep(TWICE)
    times = told.count(uri)
    await client.unsubscribe_resource(uri)
    if times != 1:
        raise Told(uri, times)
    return None


number = 0


async def work():
    global number
    options = {"mode": MODES[era], "elicitation_callback": answer, "message_handler": receive}
    async with Client(url, read_timeout_seconds=LIMIT, **options) as client:
        while time.monotonic() < end:
            number += 1
            text = f"python-{era}-{number}"
            await act("echo", call(client, "echo", {"text": text}, text))
            await act("ask", call(client, "ask", {"text": text}, text))
            await act("steps", call(client, "steps", {"count": 4, "text": text}, text))
            await act("cut", call(client, "cut", {"text": text}, text))
            await act("order", call(client, "order", {"key": text}, text))
            await act("subscribe", watch(client, f"counted://{text}"))


def leaves(error):
    """Returns the errors in a group, at any depth."""
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from leaves(inner)
    else:
        yield error


async def main():
    while time.monotonic() < end:
        began = time.monotonic()
        try:
            await work()
        except Exception as error:
            # One connection that breaks ends this client as a whole.
            causes = list(leaves(error))
            named = causes and all(isinstance(cause, MCPError) for cause in causes)
            text = ", ".join(f"{type(cause).__name__} {cause}" for cause in causes)
            show("client", began, "named" if named else "cut", text)
            await asyncio.sleep(0.5)


asyncio.run(main())
