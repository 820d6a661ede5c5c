"""pillion as the official Python library of MCP sees it.

    python mcp_client.py MODE stdio PILLION FOLDER
    python mcp_client.py MODE http URL FOLDER

MODE is `legacy` (the handshake that most agents do) or `auto` (the newest protocol).
"""

import json
import os
import sys
from pathlib import Path

import anyio
from mcp import Client, MCPError, StdioServerParameters
from mcp.types import ListRootsResult, Root


def text_of(result):
    (content,) = result.content
    assert content.type == "text", content
    return content.text


async def tools(client):
    listed = (await client.list_tools()).tools
    by_name = {tool.name: tool for tool in listed}
    assert {"code_defs", "py_call", "fetch_output", "system_status"} <= set(by_name)
    assert not {"system_shutdown", "system_subscribe"} & set(by_name)
    for tool in listed:
        assert tool.title and tool.description, tool.name
        assert tool.input_schema["type"] == "object", tool.name
        # Some models refuse tools that have these at the top.
        assert not {"anyOf", "oneOf", "allOf", "$ref"} & set(tool.input_schema), tool.name
        assert tool.output_schema["type"] == "object", tool.name
        assert "near" not in tool.input_schema.get("properties", {}), tool.name
    hints = by_name["code_defs"].annotations
    assert (hints.read_only_hint, hints.destructive_hint, hints.open_world_hint) == (
        True,
        False,
        False,
    )
    hints = by_name["py_call"].annotations
    assert (hints.read_only_hint, hints.destructive_hint, hints.open_world_hint) == (
        False,
        True,
        True,
    )


async def calls(client, folder):
    # The library holds each of these against the tool's output schema.
    result = await client.call_tool("py_call", {"function": "things:add", "params": [3, 4]})
    assert not result.is_error and result.structured_content["result"] == 7, result
    assert json.loads(text_of(result)) == result.structured_content
    place = {"file": "things.py", "line": 15, "col": 5}
    result = await client.call_tool("code_occurrences", place)
    assert result.structured_content["total"] >= 1, result
    result = await client.call_tool("code_list", {"path": str(Path(folder, "things.py"))})
    assert not result.is_error, result

    result = await client.call_tool("py_call", {"function": "things:nosuch"})
    error = json.loads(text_of(result))
    assert result.is_error and error["type"] == "NOT_FOUND", error
    assert error["code"] == "not_found" and error["recoverable"] is True and error["hint"], error
    result = await client.call_tool("py_call", {"function": "things:raises"})
    error = json.loads(text_of(result))
    assert error["type"] == "INTERNAL" and error["data"]["type"] == "ValueError", error
    result = await client.call_tool("py_call", {"function": 7})
    assert json.loads(text_of(result))["type"] == "VALIDATION", result
    try:
        await client.call_tool("py_calll", {})
    except MCPError as refused:
        assert refused.error.code == -32602 and "py_calll" in refused.error.message, refused
    else:
        raise AssertionError("an unknown tool was called")


async def progress(client):
    heard = []

    async def hear(progress, total, message):
        heard.append((progress, message))

    arguments = {"function": "things:numbers", "params": [3]}
    result = await client.call_tool("py_call", arguments, progress_callback=hear)
    assert result.structured_content["items"] == [0, 1, 2], result
    assert heard == [(1.0, "0"), (2.0, "1"), (3.0, "2")], heard
    # Whoever does not listen gets them all at once.
    result = await client.call_tool("py_call", arguments)
    assert [0, 1, 2] in result.structured_content.values(), result


async def cancel(client, folder):
    started, until = Path(folder, "started"), Path(folder, "until")
    arguments = {"function": "things:block", "params": [str(started), str(until)]}
    async with anyio.create_task_group() as group:
        group.start_soon(client.call_tool, "py_call", arguments)
        while not started.exists():
            await anyio.sleep(0.01)
        group.cancel_scope.cancel()
    # The only worker is free again: the call was cancelled in Python too.
    with anyio.fail_after(20):
        result = await client.call_tool("py_call", {"function": "things:add", "params": [1, 1]})
    assert result.structured_content["result"] == 2, result
    assert not until.exists()
    started.unlink()


async def long_output(client):
    arguments = {"function": "things:large", "params": [200_000]}
    result = await client.call_tool("py_call", arguments)
    cut = result.structured_content["cut"]
    shown = text_of(result)
    assert cut["bytes"] > 200_000 and len(shown) < 70_000, cut
    # What is shown is JSON, the same as the object, and says how much of what is missing.
    assert json.loads(shown) == result.structured_content
    (part,) = cut["parts"]
    assert part["at"] == "/result" and part["total"] == 200_000, part
    assert len(result.structured_content["result"]) == part["shown"], part
    whole, offset = "", 0
    while offset is not None:
        page = await client.call_tool("fetch_output", {"handle": cut["handle"], "offset": offset})
        whole += page.structured_content["text"]
        offset = page.structured_content.get("next_offset")
    assert json.loads(whole)["result"] == "x" * 200_000
    gone = await client.call_tool("fetch_output", {"handle": "nosuch"})
    assert json.loads(text_of(gone))["type"] == "NOT_FOUND", gone
    read = await client.read_resource(f"pillion://output/{cut['handle']}?offset=1&limit=8")
    assert read.contents[0].text == '"result"', read


async def resources(client):
    (status,) = (await client.list_resources()).resources
    assert str(status.uri) == "pillion://status", status
    read = await client.read_resource("pillion://status")
    assert json.loads(read.contents[0].text)["version"], read
    templates = (await client.list_resource_templates()).resource_templates
    assert "output" in {template.name for template in templates}, templates
    try:
        await client.read_resource("pillion://nosuch")
    except MCPError as refused:
        assert refused.error.code in (-32002, -32602), refused.error
    else:
        raise AssertionError("there is no such resource")


async def prompts(client):
    names = {prompt.name for prompt in (await client.list_prompts()).prompts}
    assert names == {"review-change", "rename-safely", "find-dead-code"}, names
    prompt = await client.get_prompt("rename-safely", {"symbol": "Cart/total", "new_name": "sum"})
    text = prompt.messages[0].content.text
    assert "`Cart/total`" in text and "code_rename" in text, text


async def main(mode, transport, server, folder):
    if transport == "stdio":
        environment = dict(os.environ)
        server = StdioServerParameters(command=server, args=["mcp"], cwd="/", env=environment)

    async def roots(_):
        return ListRootsResult(roots=[Root(uri=Path(folder).as_uri())])

    legacy = mode == "legacy"
    async with Client(server, mode=mode, list_roots_callback=roots if legacy else None) as client:
        assert client.server_info.name == "pillion", client.server_info
        assert "Ask it instead" in client.instructions
        await tools(client)
        if legacy:
            await calls(client, folder)
            await progress(client)
            await cancel(client, folder)
        else:
            root = {"root": folder}
            result = await client.call_tool(
                "py_call", {"function": "things:add", "params": [1, 2], **root}
            )
            assert result.structured_content["result"] == 3, result
        await resources(client)
        await prompts(client)
        if legacy:
            await long_output(client)
        print(client.protocol_version)


anyio.run(main, *sys.argv[1:])
