"""`pillion expose` as the official Python library of MCP sees it.

    python expose_client.py MODE stdio PILLION FOLDER
    python expose_client.py MODE http URL FOLDER

FOLDER holds `shop.py`, which this script edits.
"""

import json
import os
import sys
from pathlib import Path

import anyio
from mcp import Client, MCPError, StdioServerParameters


def text_of(result):
    (content,) = result.content
    assert content.type == "text", content
    return content.text


async def tools(client):
    listed = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(listed) == ["total", "latest", "count", "greet", "fetch_output"], list(listed)
    total = listed["total"]
    assert total.description == "The price of some orders.", total
    assert total.title == "The price of some orders", total
    schema = total.input_schema
    assert schema["required"] == ["orders"], schema
    assert schema["properties"]["orders"]["description"] == "What was ordered.", schema
    order = schema["properties"]["orders"]["items"]
    assert order["properties"]["count"] == {"type": "integer"}, order
    assert schema["properties"]["rate"] == {"type": "number", "default": 0.5}, schema
    assert total.annotations.read_only_hint is False, total
    assert listed["greet"].annotations.read_only_hint is True, listed["greet"]


async def calls(client):
    # The library holds each of these against the tool's output schema.
    orders = [{"item": "tea", "due": "2026-01-31"}, {"item": "milk", "count": 2}]
    result = await client.call_tool("total", {"orders": orders})
    assert not result.is_error and result.structured_content == {"result": 45.0}, result
    assert text_of(result) == "45.0", result
    result = await client.call_tool("latest", {"orders": orders})
    due = {"item": "tea", "count": 1, "due": "2026-01-31"}
    assert result.structured_content == due, result
    assert json.loads(text_of(result)) == due, result
    result = await client.call_tool("greet", {"name": "you"})
    assert text_of(result) == 'hello\n"you"', result
    assert result.structured_content == {"result": 'hello\n"you"'}, result
    result = await client.call_tool("greet", {"name": None})
    assert text_of(result) == 'hello\n"nobody"', result


async def errors(client):
    result = await client.call_tool("total", {"orders": [{"item": 7}], "rat": 1})
    error = json.loads(text_of(result))
    assert result.is_error and error["code"] == "invalid_params", error
    assert "`orders[0].item` must be text, not 7" in error["message"], error
    assert "no parameter `rat`" in error["message"], error
    assert error["hint"] == "did you mean `rate` instead of `rat`?", error
    result = await client.call_tool("latest", {"orders": []})
    error = json.loads(text_of(result))
    assert error["data"]["type"] == "ValueError", error


async def streams(client):
    heard = []

    async def hear(progress, total, message):
        heard.append(message)

    result = await client.call_tool("count", {"n": 3}, progress_callback=hear)
    assert result.structured_content == {"items": [0, 1, 2], "result": "done"}, result
    assert [message for message in heard if message] == ["0", "1", "2"], heard
    result = await client.call_tool("count", {"n": 0})
    assert result.structured_content == {"items": [], "result": "done"}, result


async def edits(client, file):
    source = file.read_text()
    for word in ["hi", "hey", "hello"]:
        file.write_text(source.replace("hello", word))
        result = await client.call_tool("greet", {"name": "you"})
        assert text_of(result) == f'{word}\n"you"', result
    file.write_text(source + "\ndef added(x: int) -> int:\n    return x + 1\n")
    result = await client.call_tool("added", {"x": 1})
    assert result.structured_content == {"result": 2}, result
    assert "added" in {tool.name for tool in (await client.list_tools()).tools}
    file.write_text(source.replace("def greet", "def greets"))
    try:
        await client.call_tool("greet", {"name": "you"})
    except MCPError as unknown:
        assert unknown.error.code == -32602 and "`greets`" in unknown.error.data["hint"], unknown
    else:
        raise AssertionError("a function that is gone was called")
    file.write_text("def broken(:\n")
    result = await client.call_tool("greet", {"name": "you"})
    assert json.loads(text_of(result))["data"]["type"] == "SyntaxError", result
    file.write_text(source)
    result = await client.call_tool("greet", {"name": "you"})
    assert text_of(result) == 'hello\n"you"', result


async def news(client, file, heard):
    """An edit is told to who listens, without any call."""
    await client.list_tools()
    source = file.read_text()
    later = source + "\ndef later(): ...\n"
    with anyio.fail_after(20):
        if heard is None:
            async with client.listen(tools_list_changed=True) as changes:
                file.write_text(later)
                async for _ in changes:
                    break
        else:
            heard.clear()
            file.write_text(later)
            while not heard:
                await anyio.sleep(0.01)
    assert "later" in {tool.name for tool in (await client.list_tools()).tools}
    file.write_text(source)


async def main(mode, transport, server, folder):
    if transport == "stdio":
        arguments = ["expose", "shop", "--root", folder]
        environment = dict(os.environ)
        server = StdioServerParameters(command=server, args=arguments, cwd="/", env=environment)
    heard = [] if mode == "legacy" else None

    async def hear(message):
        if getattr(message, "method", None) == "notifications/tools/list_changed":
            heard.append(message)

    handler = hear if mode == "legacy" else None
    async with Client(server, mode=mode, message_handler=handler) as client:
        assert client.server_info.name == "pillion", client.server_info
        assert client.server_capabilities.tools.list_changed is True
        assert client.server_capabilities.resources is None
        await tools(client)
        await calls(client)
        await errors(client)
        await streams(client)
        await edits(client, Path(folder, "shop.py"))
        await news(client, Path(folder, "shop.py"), heard)
        print(client.protocol_version)


anyio.run(main, *sys.argv[1:])
