// Builds the package: node build.js [FOLDER]. The hand-written wrapper and the part of gen/ts that it
// stands on are compiled twice, to modules of either kind, each with types of its own, so that a program
// gets the same package by import and by require. FOLDER (default: this folder) then holds dist and
// what npm pack needs beside it. In a fresh clone it first installs the compiler and the peers.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const top = join(here, "../..");
const folder = resolve(process.argv[2] ?? here);

function compiler() {
  const { resolve: find } = createRequire(import.meta.url);
  try {
    return find("typescript/bin/tsc");
  } catch {
    // Only what this package needs: the rest of the project's tools are ten times as large.
    const workspace = ["--workspace=storefront-client", "--include-workspace-root=false"];
    execFileSync("npm", ["ci", "--no-audit", "--no-fund", ...workspace], {
      cwd: top, stdio: ["ignore", "ignore", "inherit"], shell: process.platform === "win32",
    });
    return find("typescript/bin/tsc");
  }
}

const tsc = compiler();
// All sources lie in one folder with the generated code below it, so that the package's paths are
// not those of this repository. It lies in node_modules, where the compiler finds the peers.
const stage = mkdtempSync(join(top, "node_modules", ".storefront-package-"));
try {
  const sources = join(stage, "src");
  for (const part of ["storefront/v1", "google/api", "buf/validate"]) {
    cpSync(join(top, "gen/ts", part), join(sources, "gen", part), { recursive: true });
  }
  for (const name of readdirSync(join(here, "src"))) {
    const text = readFileSync(join(here, "src", name), "utf8");
    writeFileSync(join(sources, name), text.replaceAll('"../../../gen/ts/', '"./gen/'));
  }
  const { compilerOptions } = JSON.parse(readFileSync(join(here, "tsconfig.json"), "utf8"));
  writeFileSync(join(stage, "tsconfig.json"), JSON.stringify({ compilerOptions: { ...compilerOptions, rootDir: "src" }, include: ["src"] }));
  for (const [kind, type] of [["esm", "module"], ["cjs", "commonjs"]]) {
    const out = join(stage, kind);
    // The compiler takes the kind of modules from the package.json beside the sources, and Node from that beside its files.
    mkdirSync(out);
    for (const beside of [stage, out]) {
      writeFileSync(join(beside, "package.json"), `${JSON.stringify({ type })}\n`);
    }
    execFileSync(process.execPath, [tsc, "--project", stage, "--outDir", out], { stdio: "inherit" });
    rmSync(join(folder, "dist", kind), { recursive: true, force: true });
    cpSync(out, join(folder, "dist", kind), { recursive: true });
  }
} finally {
  rmSync(stage, { recursive: true });
}
if (folder !== here) {
  for (const name of ["package.json", "README.md"]) {
    cpSync(join(here, name), join(folder, name));
  }
}
