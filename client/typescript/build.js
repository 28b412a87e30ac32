// Builds the package: node build.js [FOLDER]. The hand-written wrapper and the part of gen/ts that it
// stands on are compiled twice, to modules of either kind, each with types of its own, so that a program
// gets the same package by import and by require. FOLDER (default: this folder) then holds dist and
// what npm pack needs beside it.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const folder = resolve(process.argv[2] ?? here);
const compiler = createRequire(import.meta.url).resolve("typescript/bin/tsc");

// With NodeNext the kind of what is written follows the package.json beside a source, which is one for
// both builds; the older pair of settings names CommonJS itself.
const builds = {
  esm: ["--module", "NodeNext"],
  cjs: ["--module", "CommonJS", "--moduleResolution", "node10"],
};

rmSync(join(folder, "dist"), { recursive: true, force: true });
for (const [kind, settings] of Object.entries(builds)) {
  const out = join(folder, "dist", kind);
  mkdirSync(out, { recursive: true });
  writeFileSync(join(out, "package.json"), `${JSON.stringify({ type: kind === "esm" ? "module" : "commonjs" })}\n`);
  execFileSync(process.execPath, [compiler, "--project", here, "--outDir", out, ...settings], { stdio: "inherit" });
}
if (folder !== here) {
  for (const name of ["package.json", "README.md"]) {
    cpSync(join(here, name), join(folder, name));
  }
}
