// The client of the skills extension's own TypeScript SDK, over the client 2.x: reads and verifies all files of a server's
// skills, and prints a JSON object: the digest of each file, by skill and URI, the children of each skill's directory, and
// the code of the error for an unknown skill.
//
// skills.mjs COMMAND...

import { createHash } from "node:crypto";

import { getSkill, listSkills, readDirectory, readSkill, readSkillResource } from "@olaservo/ext-skills/client";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "skills", version: "1" }, { versionNegotiation: { mode: { pin: "2026-07-28" } } });
await client.connect(new StdioClientTransport({ command, args }));

const skills = {};
const directories = {};
for (const listed of await listSkills(client)) {
  const entry = await getSkill(client, listed.uri);
  const files = {};
  for (const { uri } of entry.resources) {
    const content = uri === entry.uri ? await readSkill(client, entry) : await readSkillResource(client, entry, uri);
    files[uri] = `sha256:${createHash("sha256").update(bytes(content)).digest("hex")}`;
  }
  skills[entry.uri] = files;
  const root = entry.uri.replace(/\/SKILL\.md$/, "");
  directories[root] = (await readDirectory(client, root)).resources.map(({ uri }) => uri);
}
const unknown = await getSkill(client, "skill://no/such/SKILL.md").then(
  () => null,
  ({ code }) => code,
);
console.log(JSON.stringify({ skills, directories, unknown }));
await client.close();

function bytes(content) {
  if (typeof content === "string") return Buffer.from(content, "utf8");
  const { text, blob } = content;
  return text === undefined ? Buffer.from(blob, "base64") : Buffer.from(text, "utf8");
}
