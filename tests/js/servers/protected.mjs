// What the protected servers have in common: tools that need different scopes.

/** The scope that every request needs. */
export const READ = "orders:read";
/** The scope that `write_orders` needs besides. */
export const WRITE = "orders:write";
/** All scopes. Nobody asks for the last: without it, clients could not tell what a tool needs from all that there is. */
export const SCOPES = [READ, WRITE, "orders:delete"];

/** The tools and the scopes that each needs. */
export const TOOLS = { read_orders: [READ], write_orders: [READ, WRITE], delete_orders: SCOPES };

/** What a tool tells of its caller. */
export const whoCalls = ({ extra, clientId, scopes }) => ({
  content: [{ type: "text", text: JSON.stringify({ subject: extra?.subject ?? clientId, scopes }) }],
});

/** Ends this process when its input ends; each line of it asks for `requests()`, which are printed. */
export function answerInput(requests) {
  process.stdin.setEncoding("utf8").on("data", (text) => {
    for (const _ of text.matchAll(/\n/g)) process.stdout.write(`REQUESTS ${JSON.stringify(requests())}\n`);
  });
  process.stdin.once("end", () => process.exit(0));
  for (const name of ["SIGTERM", "SIGINT"]) process.on(name, () => process.exit(0));
}
