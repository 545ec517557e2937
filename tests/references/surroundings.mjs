// What servers need beside themselves: a site for `fetch`, and a PostgreSQL.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { createInterface } from "node:readline";
import pg from "pg";

const html = (body) => ["text/html; charset=utf-8", `<!doctype html><html><head><title>Page</title></head><body>${body}</body></html>`];

/** The pages by their paths: media type and body, or a status, or where it has moved. */
const PAGES = {
    "/robots.txt": ["text/plain", "User-agent: *\nDisallow: /private\n"],
    "/": html("<article><h2>Houses</h2><p>One <b>bold</b> word and a <a href=\"/next\">link</a>.</p></article>"),
    "/long": html(`<article><p>${"words ".repeat(2_000)}</p></article>`),
    "/text": ["text/plain", "a < b\n"],
    "/data.json": ["application/json", '[{"a": 1}]'],
    "/private/page": html("<p>secret</p>"),
    "/moved": 302,
    "/missing": 404,
    "/broken": 500,
};

const TABLES = `CREATE TABLE pets (id int4 PRIMARY KEY, name text, born date);
    INSERT INTO pets VALUES (1, 'Ida', '2020-02-29'), (2, NULL, NULL);
    CREATE TABLE plants (name text)`;

function respond(request, response) {
    const page = PAGES[request.url] ?? 404;
    if (typeof page === "number") {
        response.writeHead(page, page === 302 ? { location: "/private/page" } : {}).end();
        return;
    }
    response.writeHead(200, { "content-type": page[0] }).end(page[1]);
}

/** Starts a PostgreSQL with the program `command`, and makes the tables. */
async function startDatabase(command) {
    const child = spawn(command, { stdio: ["pipe", "pipe", "inherit"] });
    const [url] = await once(createInterface({ input: child.stdout }), "line");
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query(TABLES);
    await client.end();
    const stop = async () => {
        child.stdin.end();
        await once(child, "exit");
    };
    return { url, stop };
}

/** Starts the site, and a PostgreSQL if there is a command for one. */
export async function start(postgres) {
    const site = createServer(respond);
    site.listen(0, "127.0.0.1");
    await once(site, "listening");
    const database = postgres ? await startDatabase(postgres) : undefined;
    return {
        siteUrl: `http://127.0.0.1:${site.address().port}`,
        databaseUrl: database?.url,
        async stop() {
            site.closeAllConnections();
            site.close();
            await database?.stop();
        },
    };
}
