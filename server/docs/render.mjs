// Renders the reference page: node render.mjs DOCUMENT FOLDER, run by go generate.
//
// Redoc makes the whole page here, so that it reads without JavaScript too; its own script, which
// stands in the page, then adds what can be opened, searched and copied. The page asks for nothing
// from elsewhere. What it may do in a browser is written down beside it, as hashes of its own
// scripts and styles, so that nothing else runs in it.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { theme } from "./theme.mjs";

const [source, folder] = process.argv.slice(2);
if (!source || !folder) {
  throw new Error("usage: node render.mjs DOCUMENT FOLDER");
}

// CommonJS, each of them, and one React for all.
const require = createRequire(import.meta.url);
const { createElement } = require("react");
const { renderToString } = require("react-dom/server");
const { ServerStyleSheet } = require("styled-components");
const { createStore, Redoc } = require("redoc");

const read = (name) => readFileSync(name, "utf8");
const styles = read(new URL("page.css", import.meta.url));
const document = JSON.parse(read(source));
// What a format or the words beside it say already, a pattern says for programs.
for (const schema of schemasIn(document)) {
  if (schema.format || schema.pattern.includes("\\x")) {
    delete schema.pattern;
  }
}
// Redoc takes an address that begins with a variable for a path of the page's own host.
document.servers = document.servers.map(({ url, description, variables = {} }) => ({
  url: url.replaceAll(/\{(\w+)\}/g, (_, name) => variables[name].default),
  description,
}));

// schemasIn finds the schemas with a pattern.
function* schemasIn(node) {
  if (node === null || typeof node !== "object") {
    return;
  }
  if (typeof node.pattern === "string") {
    yield node;
  }
  for (const below of Object.values(node)) {
    yield* schemasIn(below);
  }
}

const options = {
  downloadUrls: [{ title: "openapi.json", url: "/docs/openapi.json" }],
  expandResponses: "200,201",
  jsonSampleExpandLevel: 4,
  maxDisplayedEnumValues: 8,
  nativeScrollbars: true,
  requiredPropsFirst: true,
  hideSchemaTitles: true,
  hideHostname: true,
  theme,
};

// replaceAll changes what must be there: a new version of Redoc that differs is noticed here.
function replaceAll(text, what, by) {
  if (!text.match(what)) {
    throw new Error(`Redoc's page has no ${what} any more`);
  }
  return text.replaceAll(what, by);
}

// What is changed of Redoc's script: the only picture that it loads from elsewhere, a logo, which it goes
// without when it gets data that are none; names of menu items that leave out what they show; a map
// of its source that is not there.
const changes = [
  [/https:\/\/cdn\.redoc\.ly\/redoc\/logo-mini\.svg/g, "data:,"],
  [/role:"menuitem","aria-label":\w+\.sidebarLabel,/g, 'role:"menuitem",'],
  [/\n\/\/# sourceMappingURL=.*/g, ""],
];
const bundle = require.resolve("redoc/bundles/redoc.standalone.js");
const licences = `/*!\n${read(require.resolve("redoc/LICENSE"))}*/\n${read(`${bundle}.LICENSE.txt`)}`;
const script = licences + changes.reduce((text, [what, by]) => replaceAll(text, what, by), read(bundle));

// Redoc colours JavaScript, and in a text neither TypeScript nor JSON.
document.info.description = document.info.description.replaceAll(/^```(ts|json)$/gm, "```js");

const store = await createStore(document, undefined, options);
const sheet = new ServerStyleSheet();
const rendered = renderToString(sheet.collectStyles(createElement(Redoc, { store })));
const body = replaceAll(rendered, / role="menuitem" aria-label="[^"]*"/g, ' role="menuitem"')
  // Code and tables that are wider than the window are scrolled with the keys too.
  .replaceAll(/<(pre|table)>/g, '<$1 tabindex="0">');

// A script ends at its first closing tag, wherever that stands.
const inScript = (text) => text.replaceAll(/<(?=\/script|!--)/gi, "\\x3c");
const hydrate = `${inScript(script)}
Redoc.hydrate(${inScript(JSON.stringify(await store.toJS()))}, document.getElementById("redoc"));
${read(new URL("page.js", import.meta.url))}`;

const escape = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
const page = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${escape(document.info.title)}</title>
<link rel="icon" href="data:,">
<style>${styles}</style>
${sheet.getStyleTags()}
</head>
<body>
<main id="redoc">${body}</main>
<script>${hydrate}</script>
</body>
</html>
`;

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const hashes = (pattern) => [...new Set([...page.matchAll(pattern)].map((match) => hash(match[1])))].sort().join(" ");

// The one style element that the script adds with a text, perfect-scrollbar's. Another version of Redoc may
// have another; the test in a browser says so.
const added = "'sha256-QMIg+bpjm3JdElJ388KYke01izlUW0UoNOeKjpMxdgc='";

const policy = [
  "default-src 'none'",
  `script-src ${hashes(/<script>(.*?)<\/script>/gs)}`,
  // Of the empty text: a style element that the script fills rule by rule. And of style attributes.
  `style-src 'unsafe-hashes' ${hash("")} ${added} ${hashes(/<style[^>]*>(.*?)<\/style>/gs)} ${hashes(/ style="([^"]*)"/g)}`,
  "img-src data:",
  // The search's index is made beside the page.
  "worker-src blob:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, "page.html"), page);
writeFileSync(
  join(folder, "docs.go"),
  `// Code generated by server/docs/render.mjs. DO NOT EDIT.

// Package docs holds the reference page of the public API.
package docs

import _ "embed"

// Page is the page, whole in itself.
//
//go:embed page.html
var Page string

// Policy is the Content-Security-Policy under which the page works.
const Policy = ${JSON.stringify(policy)}
`,
);
