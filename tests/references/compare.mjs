// Compares our servers with the reference servers, field by field: `compare.mjs TOOL PYTHON_FOLDER POSTGRES [--speed] [NAME...]`.
// PYTHON_FOLDER has the Python packages, PYTHON_FOLDER-archived those of servers that are not kept up, and POSTGRES starts a
// PostgreSQL. `--speed` measures both instead.
//
// Descriptions are our own, and are not compared.

import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Peer } from "./peer.mjs";
import { servers } from "./servers.mjs";
import { compareSpeed, printHead } from "./speed.mjs";
import { start } from "./surroundings.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const [tool, pythonFolder, postgres, ...rest] = process.argv.slice(2);
const isSpeed = rest.includes("--speed");
const wanted = rest.filter((word) => !word.startsWith("--"));
const isWanted = (name) => !wanted.length || wanted.includes(name);
const scratch = mkdtempSync(join(tmpdir(), "references-"));
const surroundings = await start(isWanted("postgres") ? postgres : undefined);

/** Returns the command of the reference. */
function reference(server, dir) {
    const args = server.referenceArgs(dir, surroundings);
    const env = { ...server.env?.(dir), TZ: "UTC" };
    if (server.python) {
        const folder = server.isArchived ? `${pythonFolder}-archived` : pythonFolder;
        const program = `import ${server.python}; ${server.python}.main()`;
        return { command: "python3", args: ["-c", program, ...args], env: { ...env, PYTHONPATH: folder } };
    }
    const folder = join(here, "node_modules", server.npm);
    const { bin } = JSON.parse(readFileSync(join(folder, "package.json")));
    const file = typeof bin === "string" ? bin : Object.values(bin)[0];
    return { command: process.execPath, args: [join(folder, file), ...args], env };
}

/** Returns the command of ours. */
function ours(server, dir) {
    return { command: tool, args: ["serve", ...server.ourArgs(dir, surroundings), "--stdio"], env: { TZ: "UTC" } };
}

/** Makes the files anew, and runs `body` with the command of a server. */
async function withCommand(server, command, body) {
    const dir = join(scratch, "work");
    rmSync(dir, { recursive: true, force: true });
    mkdirSync(dir);
    server.setup?.(dir);
    return body(command(server, dir), dir);
}

/** The lists, with what names an item and how it is brought into one form. */
const LISTS = [
    ["tools", "name", normalizeTool],
    ["prompts", "name", normalizePrompt],
    ["resources", "uri", normalizeItem],
];

/** Asks a server for its lists and makes the calls. */
async function observe(server, command) {
    return withCommand(server, command, async (start, dir) => {
        const peer = new Peer(start);
        const { capabilities } = await peer.initialize();
        const observed = {};
        for (const [list, key, normalize] of LISTS) {
            if (!capabilities[list]) continue;
            const items = (await peer.request(`${list}/list`, {}))[list];
            // No items are as good as no list.
            if (items.length) observed[list] = Object.fromEntries(items.map(({ [key]: name, ...item }) => [name, normalize(item)]));
        }
        observed.calls = {};
        for (const [index, { method, params, label }] of server.calls(dir, surroundings).entries()) {
            const result = normalizeResult(await peer.request(method, params));
            observed.calls[index] = { [label]: server.normalize?.(label, result) ?? result };
        }
        await peer.close();
        return observed;
    });
}

/** Removes what says nothing about an item, or is our own. */
function normalizeItem({ _meta, icons, title, description, ...kept }) {
    return kept;
}

function normalizePrompt({ arguments: args = [], ...prompt }) {
    return { ...normalizeItem(prompt), arguments: Object.fromEntries(args.map(({ name, ...more }) => [name, normalizeItem(more)])) };
}

function normalizeTool({ title, ...tool }) {
    const { execution, ...more } = normalizeItem(tool);
    const kept = { title, ...more };
    for (const key of ["inputSchema", "outputSchema"]) {
        if (kept[key]) kept[key] = normalizeSchema(kept[key], kept[key].$defs ?? {});
    }
    return kept;
}

/** Brings a schema into one form: without references, titles, descriptions, and how large a number can be. */
function normalizeSchema(schema, definitions) {
    if (Array.isArray(schema)) return schema.map((item) => normalizeSchema(item, definitions));
    if (typeof schema !== "object" || schema === null) return schema;
    if (typeof schema.$ref === "string") {
        const { $ref, ...more } = schema;
        return normalizeSchema({ ...definitions[$ref.split("/").pop()], ...more }, definitions);
    }
    const normal = {};
    for (const [key, value] of Object.entries(schema)) {
        if (["$schema", "$defs"].includes(key) || (["title", "description"].includes(key) && typeof value === "string")) continue;
        if (key === "additionalProperties" && value === false) continue;
        if (key === "maximum" && value >= 4294967295) continue;
        if (key === "format" && /^(u?int|double|float)/.test(value)) continue;
        if (key === "required") normal[key] = [...value].sort();
        else if (key === "properties") normal[key] = Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, normalizeSchema(inner, definitions)]));
        else normal[key] = normalizeSchema(value, definitions);
    }
    if (normal.type === "object" && normal.properties && !Object.keys(normal.properties).length) delete normal.properties;
    return normal;
}

/** Removes what is equal to its absence, and reads texts that are JSON. */
function normalizeResult(result) {
    const { isError = false, _meta, description, ...kept } = result;
    for (const block of [...(kept.content ?? []), ...(kept.contents ?? [])]) {
        if (typeof block.text !== "string") continue;
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
        const exception = server.exceptions.find(([pattern]) => pattern.test(path));
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

let isGood = true;
try {
    if (isSpeed) await printHead();
    for (const [name, server] of Object.entries(servers).filter(([name]) => isWanted(name))) {
        if (isSpeed) await compareSpeed(name, (command, body) => withCommand(server, command, body), { reference, ours, call: (dir) => server.speed(dir, surroundings) });
        else isGood = (await compare(name, server)) && isGood;
    }
} finally {
    await surroundings.stop();
    rmSync(scratch, { recursive: true, force: true });
}
process.exit(isGood ? 0 : 1);
