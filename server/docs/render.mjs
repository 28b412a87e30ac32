// Renders the reference page: node render.mjs DOCUMENT SAMPLES FOLDER, run by go generate.
//
// It writes the page, and the parts of the page as Markdown for programs. The page works without JavaScript; page.js adds search
// and copy buttons. The page loads nothing, and its Content-Security-Policy lets no other script run. It is an error if an
// operation lacks a sample in one of the languages, or if a sample belongs to no operation.

import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { marked } from "marked";
import { Fields } from "./fields.mjs";
import { code, escape, slug, span } from "./html.mjs";
import { markdownFiles } from "./markdown.mjs";
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

// Headings of the guide are one level lower on the page, because the page has a title of its own.
marked.use({
  renderer: {
    heading({ tokens, depth, text }) {
      return `<h${depth + 1} id="${slug(text)}">${this.parser.parseInline(tokens)}</h${depth + 1}>\n`;
    },
    code: ({ text, lang, blocks }) => (blocks ? tabs(`guide-${++groupsOfTabs}`, blocks) : code(text, lang)),
  },
});
const address = document.servers[0].variables.baseUrl.default;
// Replace the address of `storefront dev` in the guide by the server's address, which the samples have too.
document.info.description = document.info.description.replaceAll("SHOP_URL=http://127.0.0.1:8080", `SHOP_URL=${address}`);
const markdown = (text = "") =>
  marked.parse(text).replaceAll("<table>", '<div class="scrolled" tabindex="0" role="group" aria-label="Table"><table>').replaceAll("</table>", "</table></div>");

const languages = { sh: "curl", ts: "TypeScript", go: "Go", php: "PHP", python: "Python" };

// tabs returns blocks of code in several languages. Radio buttons above them choose the one that is visible.
const tabs = (id, blocks, attribute = "") => {
  const own = Object.keys(languages).filter((language) => blocks[language]);
  const choice = (language, i) =>
    `<label><input type="radio" name="language-${id}" value="${language}"${i ? "" : " checked"}>${languages[language]}</label>`;
  return `<div class="samples"><fieldset><legend class="unseen">Language of the sample</legend>${own.map(choice).join("")}</fieldset>
${own.map((language) => `<div data-language="${language}"${attribute}>${code(blocks[language], language)}</div>`).join("\n")}</div>\n`;
};

// sample returns the samples of an operation, and removes them from samples, so that samples without an operation are left.
const sample = (id) => {
  const own = samples.get(id);
  if (!own) {
    throw new Error(`${sampleSource} has no sample of ${id}`);
  }
  samples.delete(id);
  return own;
};

// Adjacent code blocks of the guide in several languages become tabs.
marked.use({
  hooks: {
    processAllTokens(tokens) {
      const merged = [];
      for (const token of tokens) {
        const last = merged.findLast(({ type }) => type !== "space");
        if (token.type === "code" && languages[token.lang] && last?.type === "code" && languages[last.lang] && !last.blocks?.[token.lang] && last.lang !== token.lang) {
          last.blocks = { ...(last.blocks ?? { [last.lang]: last.text }), [token.lang]: token.text };
        } else {
          merged.push(token);
        }
      }
      return merged;
    },
  },
});
let groupsOfTabs = 0;

const resolve = (object) => (object.$ref ? object.$ref.slice(2).split("/").reduce((at, name) => at[name], document) : object);

// answer returns the status and the body of the answer to a sample: the example with the same request, or the filtered list.
const answer = (op, { sh }) => {
  const [, sent] = sh.match(/-d '([^']+)'/) ?? [];
  const examples = Object.entries(op.requestBody?.content["application/json"].examples ?? {});
  const [name] = sent ? (examples.find(([, one]) => isDeepStrictEqual(one.value, JSON.parse(sent))) ?? []) : [];
  if (sent && !name) {
    throw new Error(`${op.operationId}: no exchange of the wire tests sends what the sample sends`);
  }
  for (const [status, ref] of Object.entries(op.responses)) {
    const response = resolve(ref);
    const shown = response.content?.["application/json"].examples;
    const { value } = (name ? shown?.[name] : Object.values(shown ?? {})[0]) ?? {};
    if (value && /^2/.test(status)) {
      return [`${status} ${response.description}`, Array.isArray(value.data) ? listed(value, sh) : value];
    }
  }
  throw new Error(`${op.operationId}: no example answers the sample`);
};

// listed returns the list in an example, filtered by the query of a sample.
const listed = (list, sh) => {
  const query = new URLSearchParams(sh.match(/\?([^"]*)/)?.[1]);
  const wanted = (item) =>
    (!query.has("status") || item.status === query.get("status") || item.availability === query.get("status").toUpperCase()) &&
    (!query.has("q") || JSON.stringify(item).toLowerCase().includes(query.get("q")));
  const data = list.data.filter(wanted);
  if (!data.length) {
    throw new Error(`no example answers ${sh}`);
  }
  return { page: Number(query.get("page") ?? 1), pageSize: Number(query.get("pageSize") ?? 25), total: data.length, data };
};
const json = (value) => code(JSON.stringify(value, null, 2), "json");

const parameters = (op, at, title) => {
  const found = (op.parameters ?? []).map(resolve).filter((p) => p.in === at);
  return found.length ? `<h4>${title}</h4>\n${fields.list(op.operationId, found.map((p) => [p.name, { ...p.schema, description: p.description }, p.required]))}` : "";
};

// refusals returns the error codes of an operation, with their statuses and meanings.
const refusals = (op) =>
  Object.entries(op.responses).flatMap(([status, ref]) => {
    const [, ...codes] = /^[45]\d\d$/.test(status) ? resolve(ref).description.split(/\n+- /) : [];
    return codes.map((one) => {
      const [, name, meaning] = one.match(/^`(\w+)`: ([^]*)$/) ?? [];
      if (!name) {
        throw new Error(`${op.operationId}: ${status} describes no code: ${one}`);
      }
      return { status, name, meaning };
    });
  });

// common has the error codes that every operation has. The guide describes them once.
const all = Object.values(document.paths).flatMap((item) => Object.values(item)).filter((op) => op.operationId);
const common = new Set(refusals(all[0]).map(({ name }) => name).filter((name) => all.every((op) => refusals(op).some((one) => one.name === name))));

const answers = (op) => {
  const rows = [];
  for (const [status, ref] of Object.entries(op.responses)) {
    const response = resolve(ref);
    const schema = response.content?.["application/json"]?.schema;
    if (!/^[45]\d\d$/.test(status)) {
      rows.push(`<li><strong>${escape(status)}</strong> ${schema ? fields.reference(schema) : marked.parseInline(response.description)}</li>`);
    }
  }
  const own = refusals(op).filter(({ name }) => !common.has(name)).map(
    ({ status, name, meaning }) => `<li><strong>${status}</strong> <code class="refusal" id="${op.operationId}.${name}">${name}</code> ${marked.parseInline(meaning)}</li>`,
  );
  return `<h4>Answer</h4>\n<ul class="answers">${rows.join("")}${own.join("")}<li>or a refusal that <a href="#errors">any operation</a> can have</li></ul>\n`;
};

const body = (op) => {
  const schema = op.requestBody?.content["application/json"].schema;
  if (!schema) {
    return "";
  }
  const object = fields.object(schema);
  return `<h4>Body</h4>\n${fields.list(op.operationId, Object.entries(object.properties).map(([name, s]) => [name, s, object.required?.includes(name)]))}`;
};

// shown collects the operations for the Markdown files.
const shown = [];

const operation = (verb, path, op) => {
  const own = sample(op.operationId);
  const programs = Object.fromEntries(Object.keys(languages).map((language) => [language, program(language, own[language])]));
  const [status, value] = answer(op, own);
  shown.push({ verb, path, op, programs, status, value });
  return `<section class="operation" id="${op.operationId}">
<div class="text">
<h3>${escape(op.summary)}</h3>
<p class="route"><span class="method">${verb.toUpperCase()}</span> <code>${escape(path)}</code></p>
${markdown(op.description)}
${parameters(op, "path", "Path")}${parameters(op, "query", "Query")}${body(op)}${answers(op)}
</div>
<div class="beside">
${tabs(op.operationId, programs, ` data-sample="${op.operationId}"`)}
<h4>${escape(status)}</h4>
${json(value)}
</div>
</section>`;
};

// event returns the description of one event type. delivery describes what all event types share.
const event = (op, i) => {
  const content = op.requestBody.content["application/json"];
  const payload = json(Object.values(content.examples)[0].value);
  return `<section class="operation" id="${op.operationId}">
<div class="text">
<h3>${escape(op.summary)}</h3>
${markdown(op.description)}
<p><code>data</code> is ${fields.reference(fields.object(content.schema).properties.data)}.</p>
</div>
<div class="beside"><details${i ? "" : " open"}><summary>Payload</summary>
${payload}</details></div>
</section>`;
};

const delivery = () => {
  const events = Object.values(document.webhooks).map(({ post }) => post);
  const shared = ({ parameters, responses }) => ({ parameters, responses });
  if (!events.every((op) => isDeepStrictEqual(shared(op), shared(events[0])))) {
    throw new Error("the deliveries of two events have different headers or answers");
  }
  const op = { ...events[0], operationId: "delivery" };
  const { type, data, ...rest } = fields.object(op.requestBody.content["application/json"].schema).properties;
  const types = events.map(({ summary }) => summary);
  const object = { ...rest, type: { type: "string", description: type.description, enum: types }, data: { type: "object", description: data.description } };
  const rows = Object.entries(op.responses).map(([status, { description }]) => `<li><strong>${status}</strong> ${marked.parseInline(description)}</li>`);
  return `<section class="object" id="delivery"><h3>A delivery</h3>
<p class="route"><span class="method">POST</span> to the address of your webhook</p>
${parameters(op, "header", "Headers")}<h4>Body</h4>\n${fields.list("delivery", Object.entries(object))}
<h4>What your server answers</h4>\n<ul class="answers">${rows.join("")}</ul></section>`;
};

const operations = (tag) =>
  tag === "Webhooks"
    ? Object.values(document.webhooks).map(({ post }, i) => [post, event(post, i)])
    : Object.entries(document.paths).flatMap(([path, item]) =>
        Object.entries(item).filter(([, op]) => op.tags?.includes(tag)).map(([verb, op]) => [op, operation(verb, path, op)]),
      );

// Give the first mention of each common error code in the guide an id, to which the operations link.
const described = new Set();
const guide = markdown(document.info.description).replaceAll(/<code>(\w+)<\/code>/g, (html, name) => {
  if (!common.has(name) || described.has(name)) {
    return html;
  }
  described.add(name);
  return `<code class="refusal" id="refusal.${name}">${name}</code>`;
});
if (described.size !== common.size) {
  throw new Error(`the guide leaves out what any operation can be refused with: ${[...common].filter((name) => !described.has(name))}`);
}

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
<link rel="alternate" type="text/plain" title="llms.txt" href="docs/llms.txt">
<link rel="alternate" type="text/markdown" title="Guide" href="docs/guide.md">
<style>${styles}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the content</a>
<header>
<p class="title">${escape(document.info.title)}</p>
<search><label for="q" class="unseen">Search</label><input id="q" type="search" placeholder="Search operations, fields, codes" autocomplete="off" spellcheck="false" aria-controls="found" hidden></search>
<p class="links"><a href="/docs/llms.txt">As Markdown</a> <a href="/docs/openapi.json" download>OpenAPI document</a></p>
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
${guide}
</div>
${groups.map(({ tag, all }) => `<section class="group" aria-labelledby="${slug(tag.name)}"><h2 id="${slug(tag.name)}">${escape(tag.name)}</h2>\n${markdown(tag.description)}\n${tag.name === "Webhooks" ? delivery() : ""}${all.map(([, html]) => html).join("\n")}</section>`).join("\n")}
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

// In a narrow window, long error codes in tables may break after an underscore.
const breakable = (html) =>
  html.replaceAll(/<table>.*?<\/table>/gs, (table) => table.replaceAll(/(<code[^>]*>)([^<]*)/g, (_, tag, text) => tag + text.replaceAll("_", "_<wbr>")));

const hash = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const policy = [
  "default-src 'none'", `script-src ${hash(script)}`, `style-src ${hash(styles)}`, "img-src data:", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
].join("; ");

mkdirSync(join(folder, "operations"), { recursive: true });
for (const [name, text] of markdownFiles({ document, fields, languages, refusals, common, operations: shown })) {
  writeFileSync(join(folder, name), text);
}
writeFileSync(join(folder, "page.html"), span(breakable(page)));
writeFileSync(
  join(folder, "docs.go"),
  `// Code generated by server/docs/render.mjs. DO NOT EDIT.

// Package docs holds the reference of the public API: a page, and its parts as Markdown.
package docs

import "embed"

// Markdown has llms.txt, which lists the rest: the guide, and each operation and event.
//
//go:embed llms.txt guide.md operations
var Markdown embed.FS

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
