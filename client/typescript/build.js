// Builds the package: node build.js [FOLDER]. It compiles src and the parts of gen/ts that src uses twice: to ES modules for
// import, and to CommonJS for require, each with its types. FOLDER (default: this folder) then has dist and the other files of
// the npm package. In a fresh clone it first installs the compiler and the peer dependencies.
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
  const tsc = () => join(dirname(find("typescript-7/package.json")), "bin/tsc");
  try {
    return tsc();
  } catch {
    // Install only this package's dependencies, because the tools of the whole project are ten times as large.
    const workspace = ["--workspace=storefront-client", "--include-workspace-root=false"];
    execFileSync("npm", ["ci", "--no-audit", "--no-fund", ...workspace], {
      cwd: top, stdio: ["ignore", "ignore", "inherit"], shell: process.platform === "win32",
    });
    return tsc();
  }
}

const tsc = compiler();
// Sources and generated code are copied into one folder, so that the package's source maps have no paths of this repository.
// The folder is in node_modules, where the compiler finds the peer dependencies.
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
    // A package.json with the kind of modules is needed twice: beside the sources for the compiler, beside the output for Node.
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
