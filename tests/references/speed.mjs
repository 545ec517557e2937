// Start, memory and calls a second of our servers beside those of the reference servers, one after the other.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { Peer } from "./peer.mjs";

/** How often a server is started; the median counts. */
const STARTS = 15;

/** How long calls are counted, in milliseconds. */
const COUNTED = 3_000;

/** The calls that are made at a time: most of the time is the server's. */
const CONCURRENT = 8;

const median = (numbers) => numbers.sort((one, other) => one - other)[Math.floor(numbers.length / 2)];

/** Returns a number of /proc/PID/status in MiB. */
const memoryOf = (pid, key) => Number(new RegExp(`${key}:\\s+(\\d+)`).exec(readFileSync(`/proc/${pid}/status`, "utf8"))[1]) / 1024;

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
        for (let warm = 0; warm < 10; warm++) await calls();
        const begin = performance.now();
        let count = 0;
        while (performance.now() - begin < COUNTED) count += (await calls()).length;
        const rate = (count / (performance.now() - begin)) * 1000;
        const [busy, own] = [memoryOf(peer.pid, "VmHWM"), memoryOf(peer.pid, "RssAnon")];
        await peer.close();
        return { start: median(starts), idle, busy, own, rate };
    });
}

const row = (cells) => console.log(`| ${cells.join(" | ")} |`);

/** Prints the head of the table, and the start of a process that does nothing else. */
export async function printHead() {
    const starts = [];
    for (let run = 0; run < STARTS; run++) starts.push(await bareStartTime());
    console.log(`A bare process answers after ${median(starts).toFixed(1)} ms.\n`);
    const columns = ["server", "call", "start, ms", "memory idle, MiB", "at most", "of its own", "calls a second"];
    row(columns);
    row(columns.map(() => "---"));
}

/** Measures a server and its reference, and prints a row: ours / the reference's. */
export async function compareSpeed(name, withCommand, { reference, ours, call }) {
    const [theirs, own] = [await measure((body) => withCommand(reference, body), call), await measure((body) => withCommand(ours, body), call)];
    const pair = (key) => `${own[key].toFixed(1)} / ${theirs[key].toFixed(1)}`;
    const { params } = call("");
    const rates = `${own.rate.toFixed(0)} / ${theirs.rate.toFixed(0)} = ${(own.rate / theirs.rate).toFixed(1)} ×`;
    row([name, params.name, ...["start", "idle", "busy", "own"].map(pair), rates]);
}
