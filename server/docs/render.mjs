// Renders the reference page: node render.mjs DOCUMENT SAMPLES FOLDER, run by go generate.
//
// The page is whole without JavaScript; page.js adds search and copy buttons. It asks for nothing from
// elsewhere, and its policy lets nothing else run in it. An operation without a sample in each language, or a
// sample without an operation, is an error.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { marked } from "marked";
import { Fields } from "./fields.mjs";
import { code, escape, slug, span } from "./html.mjs";
import { program, samplesOf } from "./sample.mjs";

const [source, sampleSource, folder] = process.argv.slice(2);
if (!source || !sampleSource || !folder) {
  throw new Error("usage: node render.mjs DOCUMENT SAMPLES FOLDER");
}
const read = (name) => readFileSync(name, "utf8");
const beside = (name) => read(new URL(name, import.meta.url));
const document = JSON.parse(read(source));
const samples = samplesOf(read(sampleSource));
const fields = new Fields(document);

// The guide's headings begin a level lower, under the page's own.
marked.use({
  renderer: {
    heading({ tokens, depth, text }) {
      return `<h${depth + 1} id="${slug(text)}">${this.parser.parseInline(tokens)}</h${depth + 1}>\n`;
    },
    code: ({ text, lang }) => code(text, lang),
  },
});
const address = document.servers[0].variables.baseUrl.default;
// The address of `storefront dev` in the guide is that of the server, as in the samples.
document.info.description = document.info.description.replaceAll("SHOP_URL=http://127.0.0.1:8080", `SHOP_URL=${address}`);
const markdown = (text = "") =>
  marked.parse(text).replaceAll("<table>", '<div class="scrolled" tabindex="0" role="group" aria-label="Table"><table>').replaceAll("</table>", "</table></div>");

const languages = { sh: "curl", ts: "TypeScript", go: "Go" };

// tabs are an operation's samples, one shown at a time by the radio buttons before them.
const tabs = (id) => {
  const own = samples.get(id);
  if (!own) {
    throw new Error(`${sampleSource} has no sample of ${id}`);
  }
  samples.delete(id);
  const choice = (language, i) =>
    `<label><input type="radio" name="language-${id}" value="${language}"${i ? "" : " checked"}>${languages[language]}</label>`;
  return `<div class="samples"><fieldset><legend class="unseen">Language of the sample</legend>${Object.keys(languages).map(choice).join("")}</fieldset>
${Object.keys(languages).map((language) => `<div data-language="${language}" data-sample="${id}">${code(program(language, own[language]), language)}</div>`).join("\n")}</div>`;
};

const resolve = (object) => (object.$ref ? object.$ref.slice(2).split("/").reduce((at, name) => at[name], document) : object);

// typical picks the example to show first: a list with its typical item, such as a published product.
const typical = (content) => {
  const value = Object.values(content.examples)[0].value;
  const usual = ({ status, availability }) => status === "PUBLISHED" || status === "PAID" || availability === "ACTIVE";
  const item = Array.isArray(value.data) && value.data.find(usual);
  return item ? { ...value, total: 1, data: [item] } : value;
};
const json = (value) => code(JSON.stringify(value, null, 2), "json");

const parameters = (op, at, title) => {
  const found = (op.parameters ?? []).map(resolve).filter((p) => p.in === at);
  return found.length ? `<h4>${title}</h4>\n${fields.list(op.operationId, found.map((p) => [p.name, { ...p.schema, description: p.description }, p.required]))}` : "";
};

const answers = (op) => {
  const rows = [];
  const refusals = [];
  for (const [status, ref] of Object.entries(op.responses)) {
    const response = resolve(ref);
    const [reason, ...codes] = response.description.split("\n\n- ").flatMap((part) => part.split("\n- "));
    const schema = response.content?.["application/json"]?.schema;
    if (/^[45]\d\d$/.test(status)) {
      for (const one of codes) {
        const [, name, meaning] = one.match(/^`(\w+)`: ([^]*)$/) ?? [];
        if (!name) {
          throw new Error(`${op.operationId}: ${status} describes no code: ${one}`);
        }
        refusals.push(`<tr><td>${status}</td><td><code class="refusal" id="${op.operationId}.${name}">${name}</code></td><td>${marked.parseInline(meaning)}</td></tr>`);
      }
    } else {
      rows.push(`<li><strong>${escape(status)}</strong> ${schema ? fields.reference(schema) : marked.parseInline(reason)}</li>`);
    }
  }
  const list = refusals.length
    ? `<h4>Refusals</h4>\n<div class="scrolled" tabindex="0" role="group" aria-label="Refusals of ${escape(op.summary)}"><table><thead><tr><th scope="col">Status</th><th scope="col">Code</th><th scope="col">Meaning</th></tr></thead><tbody>${refusals.join("")}</tbody></table></div>`
    : "";
  return `<h4>${op.security.length ? "Answer" : "What your server answers"}</h4>\n<ul>${rows.join("")}</ul>\n${list}`;
};

const body = (op) => {
  const schema = op.requestBody?.content["application/json"].schema;
  if (!schema) {
    return "";
  }
  const object = fields.object(schema);
  return `<h4>Body</h4>\n${fields.list(op.operationId, Object.entries(object.properties).map(([name, s]) => [name, s, object.required?.includes(name)]))}`;
};

const operation = (verb, path, op) => {
  const success = Object.entries(op.responses).find(([status]) => status === "201" || status === "200");
  const content = success && resolve(success[1]).content["application/json"];
  return `<section class="operation" id="${op.operationId}">
<div class="text">
<h3>${escape(op.summary)}</h3>
<p class="route"><span class="method">${verb.toUpperCase()}</span> <code>${escape(path)}</code></p>
${markdown(op.description)}
${parameters(op, "path", "Path")}${parameters(op, "query", "Query")}${body(op)}${answers(op)}
</div>
<div class="beside">
${tabs(op.operationId)}
<h4>${success[0]} ${escape(resolve(success[1]).description)}</h4>
${json(typical(content))}
</div>
</section>`;
};

const event = (op) => `<section class="operation" id="${op.operationId}">
<div class="text">
<h3>${escape(op.summary)}</h3>
<p class="route"><span class="method">POST</span> to the address of your webhook</p>
${markdown(op.description)}
${parameters(op, "header", "Headers")}${body(op)}${answers(op)}
</div>
<div class="beside"><h4>Payload</h4>
${json(typical(op.requestBody.content["application/json"]))}
</div>
</section>`;

const operations = (tag) =>
  tag === "Webhooks"
    ? Object.values(document.webhooks).map(({ post }) => [post, event(post)])
    : Object.entries(document.paths).flatMap(([path, item]) =>
        Object.entries(item).filter(([, op]) => op.tags?.includes(tag)).map(([verb, op]) => [op, operation(verb, path, op)]),
      );

const groups = document.tags.map((tag) => ({ tag, all: operations(tag.name) }));
if (samples.size) {
  throw new Error(`${sampleSource} has samples of what the document lacks: ${[...samples.keys()]}`);
}
const sections = [...document.info.description.matchAll(/^# (.+)$/gm)].map(([, title]) => title);
const link = (id, text) => `<li><a href="#${id}">${escape(text)}</a></li>`;
const menu = [
  ["Guide", sections.map((title) => link(slug(title), title))],
  ...groups.map(({ tag, all }) => [tag.name, all.map(([op]) => link(op.operationId, op.summary))]),
  ["Objects", fields.objects().map(([name]) => link(`object-${name}`, fields.title(name)))],
].map(([title, links]) => `<p>${escape(title)}</p><ul>${links.join("")}</ul>`).join("\n");

const styles = beside("page.css");
const script = beside("page.js");
const page = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escape(document.info.title)}</title>
<link rel="icon" href="data:,">
<style>${styles}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header>
<p class="title">${escape(document.info.title)}</p>
<search><label for="q" class="unseen">Search</label><input id="q" type="search" placeholder="Search operations, fields, codes" autocomplete="off" spellcheck="false" aria-controls="found" hidden></search>
<p class="links"><a href="/docs/openapi.json" download>OpenAPI document</a></p>
<div id="found" role="region" aria-label="Search results" hidden></div>
</header>
<div class="columns">
<nav aria-label="Reference"><details open><summary>Contents</summary>
${menu}
</details></nav>
<main id="main" tabindex="-1">
<h1>${escape(document.info.title)}</h1>
<p class="address">Its address is <code>${address}</code>.</p>
<div class="guide">
${markdown(document.info.description)}
</div>
${groups.map(({ tag, all }) => `<section class="group" aria-labelledby="${slug(tag.name)}"><h2 id="${slug(tag.name)}">${escape(tag.name)}</h2>\n${markdown(tag.description)}\n${all.map(([, html]) => html).join("\n")}</section>`).join("\n")}
<section class="group" aria-labelledby="objects"><h2 id="objects">Objects</h2>
${fields.objects().map(([name, object]) => `<section class="object" id="object-${name}"><h3>${escape(fields.title(name))}</h3>\n${markdown(object.description)}\n${fields.list(name, Object.entries(object.properties).map(([field, s]) => [field, s, false]))}</section>`).join("\n")}
</section>
</main>
</div>
<p id="live" class="unseen" role="status"></p>
<script>${script}</script>
</body>
</html>
`;

// Long codes in tables break after their underscores where the window is narrow.
const breakable = (html) =>
  html.replaceAll(/<table>.*?<\/table>/gs, (table) => table.replaceAll(/(<code[^>]*>)([^<]*)/g, (_, tag, text) => tag + text.replaceAll("_", "_<wbr>")));

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const policy = [
  "default-src 'none'", `script-src ${hash(script)}`, `style-src ${hash(styles)}`, "img-src data:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
].join("; ");

mkdirSync(folder, { recursive: true });
writeFileSync(join(folder, "page.html"), span(breakable(page)));
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

// Address stands in the page and in the document for the address of the service.
const Address = ${JSON.stringify(address)}
`,
);
