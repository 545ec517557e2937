// The servers that are compared: how each is started, what it is called with, and where it may differ.
//
// `setup(dir)` makes the files that both find. `calls` are made one after the other. `normalize` brings a result into a form
// that both have. An exception has a pattern of the paths that may differ, and the reason; one that excuses nothing is an error.

import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const call = (tool, args = {}) => ({ label: tool, method: "tools/call", params: { name: tool, arguments: args } });
const prompt = (name, args) => ({ label: "prompt", method: "prompts/get", params: { name, arguments: args } });
const read = (uri) => ({ label: "resource", method: "resources/read", params: { uri } });

const NUMBERS = "a number of lines is a whole number, not negative";
const ERRORS = "the error says the same in other words";
const HINTS = "the reference gives no hints";

const filesystem = {
    npm: "@modelcontextprotocol/server-filesystem",
    referenceArgs: (dir) => [dir],
    ourArgs: (dir) => ["filesystem", dir],
    setup(dir) {
        mkdirSync(join(dir, "sub/inner"), { recursive: true });
        writeFileSync(join(dir, "a.txt"), "one\ntwo\nthree\n");
        writeFileSync(join(dir, "sub/b.txt"), "x".repeat(1536));
        writeFileSync(join(dir, "sub/inner/c.md"), "# c\n");
        writeFileSync(join(dir, "dot.png"), "abc");
        writeFileSync(join(dir, "dot.mp3"), "abc");
        writeFileSync(join(dir, "dot.bin"), "abc");
    },
    calls: (dir) => {
        const at = (name) => join(dir, name);
        const edit = (dryRun, oldText, newText) => call("edit_file", { path: at("a.txt"), dryRun, edits: [{ oldText, newText }] });
        return [
            call("list_allowed_directories"),
            call("read_file", { path: at("a.txt") }),
            call("read_text_file", { path: at("a.txt") }),
            call("read_text_file", { path: at("a.txt"), head: 2 }),
            call("read_text_file", { path: at("a.txt"), tail: 2 }),
            call("read_text_file", { path: at("a.txt"), head: 1, tail: 1 }),
            call("read_text_file", { path: at("missing.txt") }),
            call("read_text_file", { path: "/etc/passwd" }),
            call("read_text_file", { path: at("../outside") }),
            call("read_media_file", { path: at("dot.png") }),
            call("read_media_file", { path: at("dot.mp3") }),
            call("read_media_file", { path: at("dot.bin") }),
            call("read_multiple_files", { paths: [at("a.txt"), at("sub/inner/c.md")] }),
            call("list_directory", { path: dir }),
            call("list_directory_with_sizes", { path: dir }),
            call("list_directory_with_sizes", { path: at("sub"), sortBy: "size" }),
            call("directory_tree", { path: dir }),
            call("directory_tree", { path: dir, excludePatterns: ["inner"] }),
            call("search_files", { path: dir, pattern: "*.txt" }),
            call("search_files", { path: dir, pattern: "**/*.{txt,md}" }),
            call("search_files", { path: dir, pattern: "**/*", excludePatterns: ["sub"] }),
            call("search_files", { path: dir, pattern: "nothing" }),
            call("get_file_info", { path: at("a.txt") }),
            edit(true, "two", "2"),
            edit(false, "two", "2"),
            edit(false, "nothing", "x"),
            call("read_text_file", { path: at("a.txt") }),
            call("write_file", { path: at("new.txt"), content: "new" }),
            call("write_file", { path: at("new.txt"), content: "newer" }),
            call("create_directory", { path: at("made") }),
            call("move_file", { source: at("new.txt"), destination: at("made/moved.txt") }),
            call("read_text_file", { path: at("made/moved.txt") }),
            call("list_directory", { path: at("made") }),
        ];
    },
    exceptions: [
        [/^tools\.\w+\.outputSchema/, "the structured content would say the text once more, and not in the form that the specification wishes: text that is its JSON"],
        [/^calls\.\d+\.\w+\.structuredContent/, "as for the schema"],
        [/^tools\.read_(text_)?file\.inputSchema\.properties\.(head|tail)/, NUMBERS],
        [/^calls\.6\./, ERRORS],
        [/^calls\.\d+\.get_file_info\.content/, "times are in RFC 3339 instead of the form of JavaScript in the local time zone"],
    ],
    speed: (dir) => call("read_text_file", { path: join(dir, "a.txt") }),
};

const memory = {
    npm: "@modelcontextprotocol/server-memory",
    referenceArgs: () => [],
    env: (dir) => ({ MEMORY_FILE_PATH: join(dir, "memory.jsonl") }),
    ourArgs: (dir) => ["memory", join(dir, "memory.jsonl")],
    calls: () => {
        const entities = [
            { name: "Ada", entityType: "person", observations: ["writes"] },
            { name: "Engine", entityType: "machine", observations: [] },
        ];
        const relations = [{ from: "Ada", to: "Engine", relationType: "programs" }];
        return [
            call("read_graph"),
            call("create_entities", { entities }),
            call("create_entities", { entities }),
            call("create_relations", { relations }),
            call("create_relations", { relations }),
            call("add_observations", { observations: [{ entityName: "Ada", contents: ["writes", "reads"] }] }),
            call("add_observations", { observations: [{ entityName: "Nobody", contents: ["x"] }] }),
            call("search_nodes", { query: "READ" }),
            call("open_nodes", { names: ["Engine"] }),
            call("delete_observations", { deletions: [{ entityName: "Ada", observations: ["writes"] }] }),
            call("delete_relations", { relations }),
            call("delete_entities", { entityNames: ["Engine"] }),
            call("read_graph"),
            read("memory://knowledge-graph"),
        ];
    },
    exceptions: [],
    speed: () => call("read_graph"),
};

const sequentialThinking = {
    npm: "@modelcontextprotocol/server-sequential-thinking",
    referenceArgs: () => [],
    ourArgs: () => ["sequential-thinking"],
    calls: () => {
        const think = (more) => call("sequentialthinking", { thought: "x", thoughtNumber: 1, totalThoughts: 2, nextThoughtNeeded: true, ...more });
        return [
            think({}),
            think({ thoughtNumber: 5 }),
            think({ isRevision: true, revisesThought: 1 }),
            think({ branchFromThought: 1, branchId: "a" }),
            think({ branchFromThought: 1, branchId: "b" }),
            think({ thoughtNumber: "3", nextThoughtNeeded: "false" }),
        ];
    },
    exceptions: [
        [/^tools\.sequentialthinking\.inputSchema\.properties\.(nextThoughtNeeded|isRevision|needsMoreThoughts)/, "the type is named, which the reference leaves open to take `\"true\"`; ours takes that too"],
    ],
    speed: () => call("sequentialthinking", { thought: "x", thoughtNumber: 1, totalThoughts: 2, nextThoughtNeeded: true }),
};

const time = {
    python: "mcp_server_time",
    referenceArgs: () => ["--local-timezone", "Europe/Paris"],
    ourArgs: () => ["time", "--local-timezone", "Europe/Paris"],
    calls: () => {
        const convert = (source_timezone, time, target_timezone) => call("convert_time", { source_timezone, time, target_timezone });
        return [
            call("get_current_time", { timezone: "Asia/Tokyo" }),
            call("get_current_time", { timezone: "Nowhere/City" }),
            convert("Europe/Warsaw", "12:30", "America/New_York"),
            convert("UTC", "9:05", "Asia/Kathmandu"),
            convert("Asia/Kolkata", "00:00", "Pacific/Auckland"),
            convert("UTC", "25:00", "UTC"),
            convert("", "12:00", "UTC"),
        ];
    },
    exceptions: [
        [/^calls\.(1|5|6)\./, ERRORS],
    ],
    normalize(label, result) {
        // The seconds go on between the two.
        const { datetime } = result.structuredContent ?? {};
        if (label !== "get_current_time" || !datetime) return result;
        const isNow = Math.abs(Date.parse(datetime) - Date.now()) < 60_000;
        return JSON.parse(JSON.stringify(result).replaceAll(datetime, `${isNow ? "now" : datetime} ${datetime.slice(19)}`));
    },
    speed: () => call("get_current_time", { timezone: "Asia/Tokyo" }),
};

const git = {
    python: "mcp_server_git",
    referenceArgs: (dir) => ["--repository", dir],
    ourArgs: (dir) => ["git", dir],
    setup(dir) {
        const run = (...args) => execFileSync("git", ["-c", "init.defaultBranch=main", ...args], { cwd: dir, stdio: "pipe", env: { ...process.env, GIT_AUTHOR_DATE: "2024-01-15T12:00:00Z", GIT_COMMITTER_DATE: "2024-01-15T12:00:00Z" } });
        run("init", "-q");
        run("config", "user.name", "Ada");
        run("config", "user.email", "ada@example.com");
        writeFileSync(join(dir, "a.txt"), "one\ntwo\n");
        run("add", ".");
        run("commit", "-qm", "first");
        writeFileSync(join(dir, "a.txt"), "one\nTWO\n");
        writeFileSync(join(dir, "b.txt"), "b\n");
    },
    calls: (dir) => {
        const at = (tool, more = {}) => call(tool, { repo_path: dir, ...more });
        return [
            at("git_status"),
            at("git_diff_unstaged"),
            at("git_diff_unstaged", { context_lines: 0 }),
            at("git_diff_staged"),
            at("git_diff", { target: "HEAD" }),
            at("git_diff", { target: "--output=x" }),
            at("git_add", { files: ["a.txt"] }),
            at("git_add", { files: ["../x"] }),
            at("git_diff_staged"),
            at("git_reset"),
            at("git_diff_staged"),
            at("git_create_branch", { branch_name: "work" }),
            at("git_create_branch", { branch_name: "more", base_branch: "main" }),
            at("git_checkout", { branch_name: "work" }),
            at("git_branch", { branch_type: "local" }),
            at("git_branch", { branch_type: "all" }),
            at("git_log"),
            at("git_log", { start_timestamp: "2024-01-01", end_timestamp: "2024-02-01" }),
            at("git_show", { revision: "HEAD" }),
            at("git_show", { revision: "HEAD:a.txt" }),
            at("git_show", { revision: "HEAD:" }),
            at("git_show", { revision: "nothing" }),
            call("git_status", { repo_path: "/" }),
            at("git_commit", { message: "empty" }),
            at("git_add", { files: ["a.txt"] }),
            at("git_add", { files: ["a.txt"] }),
            at("git_checkout", { branch_name: "nothing" }),
            at("git_branch", { branch_type: "nothing" }),
            at("git_create_branch", { branch_name: "work" }),
        ];
    },
    exceptions: [
        [/^tools\.git_branch\.inputSchema\.properties\.(contains|not_contains)|^tools\.git_log\.inputSchema\.properties\.\w+_timestamp|^tools\.git_create_branch\.inputSchema\.properties\.base_branch/, "an argument may be left out, and null is taken without being named"],
        [/^tools\.\w+\.inputSchema\.properties\.(context_lines|max_count)/, NUMBERS],
        [/^calls\.0\.git_status\.content/, "without the hints of the command, which a model cannot follow"],
        [/^calls\.(5|7|21|22|23|25|26|27|28)\./, ERRORS],
    ],
    speed: (dir) => call("git_status", { repo_path: dir }),
};

const fetchServer = {
    python: "mcp_server_fetch",
    referenceArgs: () => ["--allow-private-ips"],
    ourArgs: () => ["fetch", "--allow-private-addresses"],
    calls: (dir, { siteUrl }) => {
        const fetch = (path, more) => call("fetch", { url: siteUrl + path, ...more });
        return [
            fetch("/"),
            fetch("/", { max_length: 10 }),
            fetch("/long", { start_index: 6_000, max_length: 100 }),
            fetch("/long", { start_index: 100_000 }),
            fetch("/text"),
            fetch("/data.json"),
            fetch("/", { raw: true }),
            fetch("/private/page"),
            fetch("/moved"),
            fetch("/missing"),
            fetch("/broken"),
            call("fetch", { url: "no URL" }),
            fetch("/", { max_length: 0 }),
            prompt("fetch", { url: `${siteUrl}/private/page` }),
        ];
    },
    exceptions: [[/^calls\.([789]|1[012])\./, ERRORS]],
    speed: (dir, { siteUrl }) => call("fetch", { url: `${siteUrl}/` }),
};

const sqlite = {
    python: "mcp_server_sqlite",
    isArchived: true,
    referenceArgs: (dir) => ["--db-path", join(dir, "a.db")],
    ourArgs: (dir) => ["sqlite", join(dir, "a.db")],
    calls: () => {
        const query = (tool, sql) => call(tool, { query: sql });
        return [
            call("list_tables"),
            query("create_table", "CREATE TABLE pets (id INTEGER PRIMARY KEY, name TEXT NOT NULL, weight REAL DEFAULT 1.5)"),
            query("create_table", "DROP TABLE pets"),
            query("write_query", "INSERT INTO pets (name, weight) VALUES ('Ida', 4.5), ('Otto', NULL)"),
            query("write_query", "UPDATE pets SET weight = 2 WHERE id > 1"),
            query("write_query", "SELECT 1"),
            query("read_query", "SELECT * FROM pets ORDER BY id"),
            query("read_query", "select count(*) AS number from pets where weight > 100"),
            query("read_query", "DELETE FROM pets"),
            query("read_query", "SELECT nothing FROM pets"),
            call("list_tables"),
            call("describe_table", { table_name: "pets" }),
            call("describe_table", { table_name: "missing" }),
            query("write_query", "DELETE FROM pets"),
            read("memo://insights"),
            call("append_insight", { insight: "Ida weighs most" }),
            read("memo://insights"),
            prompt("mcp-demo", { topic: "tea" }),
        ];
    },
    normalize(label, result) {
        // The reference prints rows as Python does.
        const [block] = result.content ?? [];
        if (typeof block?.text === "string" && block.text.startsWith("[{")) {
            block.text = JSON.parse(block.text.replaceAll("'", '"').replaceAll("None", "null"));
        }
        return result;
    },
    exceptions: [
        [/^tools\.\w+\.annotations/, HINTS],
        [/^calls\.[2589]\./, "an error is marked as one"],
        [/^calls\.(14|16|17)\./, "the texts of the memo and of the prompt are our own"],
    ],
    speed: () => call("list_tables"),
};

const postgres = {
    npm: "@modelcontextprotocol/server-postgres",
    referenceArgs: (dir, { databaseUrl }) => [databaseUrl],
    ourArgs: (dir, { databaseUrl }) => ["postgres", databaseUrl],
    calls: (dir, { databaseUrl }) => {
        const query = (sql) => call("query", { sql });
        const table = (name) => read(new URL(`/${name}/schema`, databaseUrl).href);
        return [
            query("SELECT id, name FROM pets ORDER BY id"),
            query("SELECT count(*)::int4 AS number FROM pets WHERE id > 100"),
            query("SELECT 1::int4 AS a, 1.5::float8 AS b, true AS c, NULL AS d, 'x' AS e, '{\"f\": [1]}'::jsonb AS f"),
            query("SELECT * FROM pets WHERE id = 100"),
            query("SELECT born, 1::int8 AS long FROM pets WHERE id = 1"),
            query("SELECT nothing"),
            query("DELETE FROM pets"),
            query("COMMIT; SELECT 1"),
            query("SELECT count(*)::int4 AS number FROM pets"),
            table("pets"),
            table("nothing"),
        ];
    },
    normalize(label, result) {
        // The reference lists columns in any order.
        const [block] = result.contents ?? [];
        if (Array.isArray(block?.text)) block.text.sort((one, other) => one.column_name.localeCompare(other.column_name));
        return result;
    },
    exceptions: [
        [/^tools\.query\.annotations/, HINTS],
        [/^tools\.query\.inputSchema\.required/, "the reference forgets that the argument is required"],
        [/^calls\.4\./, "values are as PostgreSQL makes JSON of them, not as JavaScript does"],
        [/^calls\.[56]\./, "an error is a result, which the model reads"],
        [/^calls\.7\./, "the reference runs several statements, also those that end its transaction"],
        [/^calls\.10\./, "a table that is not there is an error"],
    ],
    speed: () => call("query", { sql: "SELECT id, name FROM pets ORDER BY id" }),
};

export const servers = { filesystem, memory, "sequential-thinking": sequentialThinking, time, git, fetch: fetchServer, sqlite, postgres };
