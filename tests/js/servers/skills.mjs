// A folder of skills, served by the skills extension's own TypeScript SDK over the TypeScript SDK 2.x, on a pipe.
//
// skills.mjs DIR

import { discoverSkills, registerSkillResources } from "@olaservo/ext-skills/server";
import { McpServer } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const [folder] = process.argv.slice(2);
if (!folder) {
  console.error("usage: skills.mjs DIR");
  process.exit(2);
}
const skills = discoverSkills(folder);

serveStdio(
  () => {
    const server = new McpServer({ name: "skills", version: "1" }, { capabilities: { resources: {} } });
    registerSkillResources(server, skills, folder, { directoryRead: true });
    return server;
  },
  { onerror: console.error },
);
