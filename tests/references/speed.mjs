// Start, memory and calls a second of our servers beside those of the reference servers, one after the other.
//
// Calls are counted by the time of the processor that a server takes: beside a server that is quick, this program is what others
// wait for.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Peer } from "./peer.mjs";

/** How often a server is started; the quickest counts, which had the machine for itself. */
const STARTS = 9;

/** How long calls are counted, in milliseconds. */
const COUNTED = 3_000;

/** The calls that are made at a time. */
const CONCURRENT = 8;

/** The parts of a second in which Linux counts the time of a process. */
const TICKS = 100;

/** Returns a number of /proc/PID/status in MiB. */
const memoryOf = (pid, key) => Number(new RegExp(`${key}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;

/** Returns the seconds of the processor that a process and its children have taken. */
function processorTime(pid) {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    return fields.slice(11, 15).reduce((sum, ticks) => sum + Number(ticks), 0) / TICKS;
}

/** Returns the milliseconds until a command answers `initialize`. */
async function startTime(start) {
    const begin = performance.now();
    const peer = new Peer(start);
    await peer.initialize();
    const time = performance.now() - begin;
    await peer.close();
    return time;
}

/** Returns the milliseconds until a process that does nothing else answers with its input. */
async function bareStartTime() {
    const begin = performance.now();
    const child = spawn("cat");
    child.stdin.write("{}\n");
    await once(child.stdout, "data");
    const time = performance.now() - begin;
    child.stdin.end();
    await once(child, "exit");
    return time;
}

/** Measures one server. `withCommand` makes its files anew, and runs a function with its command. */
async function measure(withCommand, call) {
    const starts = [];
    for (let run = 0; run < STARTS; run++) starts.push(await withCommand(startTime));
    return withCommand(async (start, dir) => {
        const peer = new Peer(start);
        await peer.initialize();
        await peer.request("tools/list", {});
        const idle = memoryOf(peer.pid, "VmRSS");
        const { method, params } = call(dir);
        const calls = () => Promise.all(Array.from({ length: CONCURRENT }, () => peer.request(method, params)));
        for (let warm = 0; warm < 3; warm++) await calls();
        const [begin, taken] = [performance.now(), processorTime(peer.pid)];
        let count = 0;
        while (performance.now() - begin < COUNTED) count += (await calls()).length;
        const rate = (count / (performance.now() - begin)) * 1000;
        const processorRate = count / (processorTime(peer.pid) - taken);
        const [busy, own] = [memoryOf(peer.pid, "VmHWM"), memoryOf(peer.pid, "RssAnon")];
        await peer.close();
        return { start: Math.min(...starts), idle, busy, own, rate, processorRate };
    });
}

const row = (cells) => console.log(`| ${cells.join(" | ")} |`);

/** Prints the head of the table, and the start of a process that does nothing else. */
export async function printHead() {
    const starts = [];
    for (let run = 0; run < STARTS; run++) starts.push(await bareStartTime());
    console.log(`A bare process answers after ${Math.min(...starts).toFixed(1)} ms.\n`);
    const columns = ["server", "call", "start, ms", "memory idle, MiB", "at most", "of its own", "calls a second", "calls a second of the processor"];
    row(columns);
    row(columns.map(() => "---"));
}

/** Measures a server and its reference, and prints a row: ours / the reference's. */
export async function compareSpeed(name, withCommand, { reference, ours, call }) {
    const [theirs, own] = [await measure((body) => withCommand(reference, body), call), await measure((body) => withCommand(ours, body), call)];
    const pair = (key) => `${own[key].toFixed(1)} / ${theirs[key].toFixed(1)}`;
    const { params } = call("");
    const rates = (key) => `${own[key].toFixed(0)} / ${theirs[key].toFixed(0)} = ${(own[key] / theirs[key]).toFixed(1)} ×`;
    row([name, params.name, ...["start", "idle", "busy", "own"].map(pair), rates("rate"), rates("processorRate")]);
}
