import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

/** Compresses the files: the program embeds and sends them so. */
const compress: Plugin = {
  name: "compress",
  writeBundle({ dir = "" }, bundle) {
    for (const name of Object.keys(bundle).filter((one) => /\.(js|css)$/.test(one))) {
      const file = join(dir, name);
      writeFileSync(`${file}.gz`, gzipSync(readFileSync(file), { level: 9 }));
      rmSync(file);
    }
  },
};

// The built files have fixed names and stand in the repository: the engine embeds them, and the
// check builds them again and compares.
export default defineConfig({
  base: "/",
  plugins: [compress],
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: process.env.PAGE_DIR ?? "../page",
    emptyOutDir: true,
    target: "es2023",
    cssTarget: ["chrome125", "firefox125", "safari17.5"],
    assetsInlineLimit: 0,
    cssCodeSplit: false,
    modulePreload: false,
    reportCompressedSize: true,
    rolldownOptions: {
      output: {
        entryFileNames: "inspector.js",
        chunkFileNames: "[name].js",
        assetFileNames: "inspector[extname]",
      },
    },
  },
  test: {
    projects: [
      { extends: true, test: { name: "unit", include: ["test/unit/**/*.test.ts"] } },
      {
        extends: true,
        test: {
          name: "browser",
          include: ["test/browser/**/*.test.ts"],
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
    ],
  },
});
