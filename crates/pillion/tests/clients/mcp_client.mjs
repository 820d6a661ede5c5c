// pillion as the official TypeScript library of MCP sees it.
//
//     node mcp_client.mjs MODULES stdio PILLION FOLDER
//     node mcp_client.mjs MODULES http URL FOLDER
//
// MODULES is the folder that the library is installed in.

import assert from "node:assert/strict";
import { existsSync, unlinkSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const [modules, kind, server, folder] = process.argv.slice(2);
const require = createRequire(join(modules, "package.json"));
const library = (part) => require(`@modelcontextprotocol/sdk/${part}`);
const { Client } = library("client/index.js");
const { StdioClientTransport } = library("client/stdio.js");
const { StreamableHTTPClientTransport } = library("client/streamableHttp.js");
const { ListRootsRequestSchema, McpError } = library("types.js");

const transport =
  kind === "stdio"
    ? new StdioClientTransport({ command: server, args: ["mcp"], cwd: "/", env: process.env })
    : new StreamableHTTPClientTransport(new URL(server));
const client = new Client({ name: "test", version: "1" }, { capabilities: { roots: {} } });
client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: `file://${folder}` }] }));
await client.connect(transport);
assert.equal(client.getServerVersion().name, "pillion");

const { tools } = await client.listTools();
assert(tools.some((tool) => tool.name === "code_refs" && tool.annotations.readOnlyHint));

const py = (name, params, options) =>
  client.callTool({ name: "py_call", arguments: { function: `things:${name}`, params } }, undefined, options);
assert.equal((await py("add", [3, 4])).structuredContent.result, 7);

const failed = await py("raises", []);
assert(failed.isError);
assert.equal(JSON.parse(failed.content[0].text).type, "INTERNAL");
await assert.rejects(client.callTool({ name: "nosuch" }), McpError);

const heard = [];
const streamed = await py("numbers", [3, 0.05], { onprogress: (news) => heard.push(news.message) });
assert.deepEqual(streamed.structuredContent.items, [0, 1, 2]);
// The library forgets who listens when the result comes in the same breath as the news.
assert.equal(heard[0], "0");

const started = join(folder, "started-ts");
const stop = new AbortController();
const blocked = py("block", [started, join(folder, "until-ts")], { signal: stop.signal });
while (!existsSync(started)) await sleep(10);
stop.abort("enough");
await assert.rejects(blocked);
assert.equal((await py("add", [1, 1])).structuredContent.result, 2);
unlinkSync(started);

// The library refuses an answer that does not fit the tool's output schema.
assert((await py("large", [200_000])).structuredContent.cut.handle);

const { resources } = await client.listResources();
const read = await client.readResource({ uri: resources[0].uri });
assert(JSON.parse(read.contents[0].text).version);
const { prompts } = await client.listPrompts();
assert.equal(prompts.length, 3);
const prompt = await client.getPrompt({ name: "find-dead-code" });
assert.match(prompt.messages[0].content.text, /code_refs/);
await client.close();
console.log("ok");
