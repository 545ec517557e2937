// Compares our servers with the reference servers, field by field: `compare.mjs TOOL PYTHON_FOLDER [--speed] [NAME...]`.
// `--speed` measures both instead.

import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Peer } from "./peer.mjs";
import { servers } from "./servers.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const [tool, pythonFolder, ...rest] = process.argv.slice(2);
const isSpeed = rest.includes("--speed");
const wanted = rest.filter((word) => !word.startsWith("--"));
const scratch = mkdtempSync(join(tmpdir(), "references-"));

/** Returns the command of the reference. */
function reference(server, dir) {
    const args = server.referenceArgs(dir);
    const env = { ...server.env?.(dir), TZ: "UTC" };
    if (server.python) return { command: "python3", args: ["-m", server.python, ...args], env: { ...env, PYTHONPATH: pythonFolder } };
    const folder = join(here, "node_modules", server.npm);
    const { bin } = JSON.parse(readFileSync(join(folder, "package.json")));
    const file = typeof bin === "string" ? bin : Object.values(bin)[0];
    return { command: process.execPath, args: [join(folder, file), ...args], env };
}

/** Returns the command of ours. */
function ours(server, dir) {
    return { command: tool, args: ["serve", ...server.ourArgs(dir), "--stdio"], env: { TZ: "UTC" } };
}

/** Makes the files anew, and runs `body` with a connected peer. */
async function withPeer(server, command, body) {
    const dir = join(scratch, "work");
    rmSync(dir, { recursive: true, force: true });
    mkdirSync(dir);
    server.setup(dir);
    const peer = new Peer(command(server, dir));
    try {
        await peer.initialize();
        return await body(peer, dir);
    } finally {
        await peer.close();
    }
}

/** Asks a server for its tools and makes the calls. */
async function observe(server, command) {
    return withPeer(server, command, async (peer, dir) => {
        const { tools } = await peer.request("tools/list", {});
        const byName = Object.fromEntries(tools.map(({ name, ...tool }) => [name, normalizeTool(tool)]));
        const calls = {};
        for (const [index, { tool, args }] of server.calls(dir).entries()) {
            const result = await peer.request("tools/call", { name: tool, arguments: args });
            calls[index] = { [tool]: normalizeResult(result) };
        }
        return { tools: byName, calls };
    });
}

/** Removes what says nothing about a tool. */
function normalizeTool(tool) {
    const { execution, _meta, icons, ...kept } = tool;
    for (const key of ["inputSchema", "outputSchema"]) {
        if (kept[key]) kept[key] = normalizeSchema(kept[key], kept[key].$defs ?? {});
    }
    return kept;
}

/** Brings a schema into one form: without references, titles and the bounds of JavaScript's numbers. */
function normalizeSchema(schema, definitions) {
    if (Array.isArray(schema)) return schema.map((item) => normalizeSchema(item, definitions));
    if (typeof schema !== "object" || schema === null) return schema;
    if (typeof schema.$ref === "string") {
        const { $ref, ...more } = schema;
        return normalizeSchema({ ...definitions[$ref.split("/").pop()], ...more }, definitions);
    }
    const normal = {};
    for (const [key, value] of Object.entries(schema)) {
        if (["$schema", "$defs"].includes(key) || (key === "title" && typeof value === "string")) continue;
        if (key === "additionalProperties" && value === false) continue;
        if (key === "maximum" && value >= 4294967295) continue;
        if (key === "format" && /^u?int/.test(value)) continue;
        if (key === "required") normal[key] = [...value].sort();
        else if (key === "properties") normal[key] = Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, normalizeSchema(inner, definitions)]));
        else normal[key] = normalizeSchema(value, definitions);
    }
    if (normal.type === "object" && normal.properties && !Object.keys(normal.properties).length) delete normal.properties;
    return normal;
}

/** Removes what is equal to its absence, and reads texts that are JSON. */
function normalizeResult(result) {
    const { isError = false, _meta, ...kept } = result;
    for (const block of kept.content ?? []) {
        if (block.type !== "text") continue;
        try {
            const value = JSON.parse(block.text);
            if (typeof value === "object") block.text = value;
        } catch {}
    }
    return { isError, ...kept };
}

/** Returns the paths at which two values differ, with both values. */
function differences(one, other, path = "") {
    if (one && other && typeof one === "object" && typeof other === "object") {
        const keys = [...new Set([...Object.keys(one), ...Object.keys(other)])];
        return keys.flatMap((key) => differences(one[key], other[key], path ? `${path}.${key}` : key));
    }
    return one === other ? [] : [{ path, one, other }];
}

const count = (value) => (value && typeof value === "object" ? Object.values(value).reduce((sum, inner) => sum + count(inner), 0) : 1);

async function compare(name, server) {
    const [theirs, own] = [await observe(server, reference), await observe(server, ours)];
    const found = differences(theirs, own);
    const used = new Set();
    const open = found.filter(({ path, one, other }) => {
        const exception = server.exceptions.find(([pattern]) => pattern.test(path) || pattern.test(`${path} ${JSON.stringify(one)} ${JSON.stringify(other)}`));
        if (exception) used.add(exception);
        return !exception;
    });
    const idle = server.exceptions.filter((exception) => !used.has(exception));
    const calls = Object.keys(theirs.calls).length;
    console.log(`${name}: ${Object.keys(theirs.tools).length} tools, ${calls} calls, ${count(theirs)} fields, ${found.length} differ, ${found.length - open.length} for ${used.size} known reasons`);
    for (const { path, one, other } of open) {
        console.log(`  ${path}\n    reference ${JSON.stringify(one)}\n    ours      ${JSON.stringify(other)}`);
    }
    for (const [pattern, why] of idle) console.log(`  no difference needs the exception ${pattern} (${why})`);
    return open.length === 0 && idle.length === 0;
}

const median = (numbers) => numbers.sort((one, other) => one - other)[Math.floor(numbers.length / 2)];

/** Returns a number of /proc/PID/status in MiB. */
const memoryOf = (pid, key) => Number(new RegExp(`${key}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;

/** Measures start (ms until `initialize` is answered), memory (MiB) and calls a second, one after the other. */
async function measure(server, command) {
    const starts = [];
    for (let run = 0; run < 7; run++) {
        const dir = join(scratch, "work");
        rmSync(dir, { recursive: true, force: true });
        mkdirSync(dir);
        server.setup(dir);
        const begin = performance.now();
        const peer = new Peer(command(server, dir));
        await peer.initialize();
        starts.push(performance.now() - begin);
        await peer.close();
    }
    return withPeer(server, command, async (peer, dir) => {
        await peer.request("tools/list", {});
        const idle = memoryOf(peer.pid, "VmRSS");
        const { tool, args } = server.speed(dir);
        const params = { name: tool, arguments: args };
        for (let warm = 0; warm < 50; warm++) await peer.request("tools/call", params);
        const begin = performance.now();
        let calls = 0;
        while (performance.now() - begin < 3000) {
            // Eight at a time: most of the time is the server's.
            await Promise.all(Array.from({ length: 8 }, () => peer.request("tools/call", params)));
            calls += 8;
        }
        const rate = (calls / (performance.now() - begin)) * 1000;
        return { start: median(starts), idle, busy: memoryOf(peer.pid, "VmHWM"), rate };
    });
}

async function compareSpeed(name, server) {
    const [theirs, own] = [await measure(server, reference), await measure(server, ours)];
    const line = ({ start, idle, busy, rate }) => `start ${start.toFixed(1)} ms, ${idle.toFixed(1)} MiB idle, ${busy.toFixed(1)} MiB at most, ${rate.toFixed(0)} calls/s`;
    console.log(`${name} (${server.speed("").tool})\n  reference ${line(theirs)}\n  ours      ${line(own)}\n  ${(own.rate / theirs.rate).toFixed(1)} × the calls a second`);
    return true;
}

let isGood = true;
for (const [name, server] of Object.entries(servers)) {
    if (wanted.length && !wanted.includes(name)) continue;
    const check = isSpeed ? compareSpeed : compare;
    isGood = (await check(name, server)) && isGood;
}
rmSync(scratch, { recursive: true, force: true });
process.exit(isGood ? 0 : 1);
