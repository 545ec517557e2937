// A server as a child process, and its requests, one JSON object a line.

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

/** The time that an answer may take, in milliseconds. */
const TIMEOUT = 120_000;

export class Peer {
    #child;
    #waiting = new Map();
    #next = 1;
    #stderr = "";

    /** Starts a command: `{ command, args, env, cwd }`. */
    constructor({ command, args, env, cwd }) {
        this.#child = spawn(command, args, { cwd, env: { ...process.env, ...env }, stdio: ["pipe", "pipe", "pipe"] });
        this.#child.stderr.on("data", (data) => { this.#stderr = (this.#stderr + data).slice(-2000); });
        this.#child.on("error", (error) => this.#end(error.message));
        this.#child.on("exit", (code, signal) => this.#end(`it ended (${code ?? signal})`));
        this.#child.stdin.on("error", () => {});
        createInterface({ input: this.#child.stdout }).on("line", (line) => this.#receive(JSON.parse(line)));
    }

    get pid() {
        return this.#child.pid;
    }

    #end(why) {
        for (const { reject } of this.#waiting.values()) reject(new Error(`${why}\n${this.#stderr}`));
        this.#waiting.clear();
    }

    #receive(message) {
        const waiting = this.#waiting.get(message.id);
        if (!waiting || message.method) return;
        this.#waiting.delete(message.id);
        if (message.error) waiting.resolve({ error: message.error });
        else waiting.resolve(message.result);
    }

    #send(message) {
        this.#child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
    }

    /** Sends a request, and returns its result, or `{ error }`. */
    request(method, params) {
        const id = this.#next++;
        return new Promise((resolve, reject) => {
            const timer = setTimeout(() => reject(new Error(`${method}: no answer\n${this.#stderr}`)), TIMEOUT);
            const settle = (done) => (value) => { clearTimeout(timer); done(value); };
            this.#waiting.set(id, { resolve: settle(resolve), reject: settle(reject) });
            this.#send({ id, method, params });
        });
    }

    async initialize() {
        const clientInfo = { name: "references", version: "1.0.0" };
        const result = await this.request("initialize", { protocolVersion: "2025-06-18", capabilities: {}, clientInfo });
        this.#send({ method: "notifications/initialized" });
        return result;
    }

    async close() {
        const ended = new Promise((resolve) => this.#child.once("exit", resolve));
        this.#child.stdin.end();
        const timer = setTimeout(() => this.#child.kill("SIGKILL"), 3000);
        await ended;
        clearTimeout(timer);
    }
}
