// Builds the page into another folder, and compares it with the files in the repository.

import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { build } from "vite";

const MAX_BYTES = 150_000;
const MAX_FILES = 3;

const page = new URL("../../page", import.meta.url).pathname;
const fresh = mkdtempSync(join(tmpdir(), "inspector-page-"));
const faults: string[] = [];
try {
  await build({ logLevel: "error", build: { outDir: fresh } });
  const names = [...new Set([...readdirSync(page), ...readdirSync(fresh)])].sort();
  let bytes = 0;
  for (const name of names) {
    const [stored, built] = [page, fresh].map((folder) => read(join(folder, name)));
    if (!stored || !built || !content(name, stored).equals(content(name, built))) {
      faults.push(`page/${name} differs from what the sources build: run \`npm run build\``);
    }
    bytes += built?.length ?? 0;
  }
  if (bytes > MAX_BYTES) {
    faults.push(`the page has ${bytes} bytes, more than ${MAX_BYTES}`);
  }
  if (names.length > MAX_FILES) {
    faults.push(`the page has ${names.length} files, more than ${MAX_FILES}`);
  }
  console.log(`${names.length} files, ${bytes} bytes`);
} finally {
  rmSync(fresh, { recursive: true });
}
for (const fault of faults) {
  console.error(fault);
}
process.exitCode = faults.length > 0 ? 1 : 0;

function read(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

/** Returns what a file holds: another Node compresses the same into other bytes. */
function content(name: string, bytes: Buffer): Buffer {
  return name.endsWith(".gz") ? gunzipSync(bytes) : bytes;
}
