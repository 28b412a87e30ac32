// Writes the pages of the reference as Markdown: node reference.mjs DOCUMENT SAMPLES FOLDER, run by go generate.
//
// A page describes one operation, one type of event, or one object; codes.md has all error codes, and reference.md lists the pages.
// It is an error if an operation lacks a sample in one of the languages, or if a sample belongs to no operation.

import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { Fields } from "./fields.mjs";
import { languages, program, samplesOf } from "./sample.mjs";

const [source, sampleSource, folder] = process.argv.slice(2);
if (!source || !sampleSource || !folder) {
  throw new Error("usage: node reference.mjs DOCUMENT SAMPLES FOLDER");
}
const read = (name) => readFileSync(name, "utf8");
const document = JSON.parse(read(source));
const samples = samplesOf(read(sampleSource));
const fields = new Fields(document.components.schemas);
const guide = "cmd/openapi/guide";

const block = (language, text) => `\`\`\`${language}\n${text.trimEnd()}\n\`\`\`\n`;
const json = (value) => block("json", JSON.stringify(value, null, 2));
const section = (heading, text) => (text ? `## ${heading}\n\n${text}\n` : "");
const oneLine = (text) => text.replaceAll(/\s*\n\s*/g, " ").trim();
const resolve = (object) => (object.$ref ? object.$ref.slice(2).split("/").reduce((at, name) => at[name], document) : object);
const schemaOf = (body) => body?.content?.["application/json"]?.schema;

const parameters = (op, at) =>
  fields.list((op.parameters ?? []).map(resolve).filter((p) => p.in === at).map((p) => [p.name, { ...p.schema, description: p.description }, p.required]));

const properties = (schema) => {
  const { properties: own, required = [] } = fields.object(schema);
  return fields.list(Object.entries(own).map(([name, s]) => [name, s, required.includes(name)]));
};

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

const operations = Object.entries(document.paths).flatMap(([path, item]) =>
  Object.entries(item).filter(([, op]) => op.operationId).map(([verb, op]) => ({ verb, path, op })),
);
const events = Object.values(document.webhooks).map(({ post }) => post);

// codesOf returns the error codes of an operation.
const codesOf = (op) => Object.values(op.responses).flatMap((ref) => resolve(ref)["x-error-codes"] ?? []);

// codes has all error codes, with the operations that return them.
const codes = [...document.components.schemas.Error.properties.code.description.matchAll(/^- `(\w+)` \((\d+)\): (.*) Remedy: (.*)$/gm)].map(([, name, status, meaning, remedy]) => {
  const own = operations.filter(({ op }) => codesOf(op).includes(name)).map(({ op }) => op);
  return { name, status, meaning, remedy, common: own.length === operations.length, own };
});

const responses = (op) => {
  const rows = Object.entries(op.responses).filter(([status]) => /^2/.test(status)).map(([status, ref]) => `- ${status}: ${fields.reference(schemaOf(resolve(ref)))}\n`);
  const own = codes.filter((one) => !one.common && one.own.includes(op));
  rows.push(...own.map(({ status, name, meaning }) => `- ${status} [\`${name}\`](../codes.md#${name}): ${meaning}\n`));
  return `${rows.join("")}- the errors of [any operation](../codes.md)\n`;
};

const operation = ({ verb, path, op }) => {
  const own = samples.get(op.operationId);
  if (!own) {
    throw new Error(`${sampleSource} has no sample of ${op.operationId}`);
  }
  samples.delete(op.operationId);
  const [status, value] = answer(op, own);
  const sent = schemaOf(op.requestBody);
  return `# ${op.summary}

\`${verb.toUpperCase()} ${path}\`

${op.description}

${section("Path", parameters(op, "path"))}${section("Query", parameters(op, "query"))}${section("Body", sent && properties(sent))}${section(
    "Response", responses(op),
  )}${section("Example", `${languages.map((language) => block(language, program(language, own[language]))).join("\n")}\n${status}\n\n${json(value)}`)}`;
};

const event = (op) => {
  const { schema, examples } = op.requestBody.content["application/json"];
  return `# ${op.summary}

${op.description}

The field \`data\` is ${fields.reference(fields.object(schema).properties.data)}. Read how [a delivery](delivery.md) looks, and how to
[ship exactly once](../../../${guide}/webhooks.md#ship-exactly-once).

${section("Example", json(Object.values(examples)[0].value))}`;
};

const delivery = () => {
  const shared = (op) => [op.parameters, op.responses];
  if (!events.every((op) => isDeepStrictEqual(shared(op), shared(events[0])))) {
    throw new Error("the deliveries of two events have different headers or answers");
  }
  const [op] = events;
  const { type, data, ...rest } = fields.object(schemaOf(op.requestBody)).properties;
  const envelope = { ...rest, type: { type: "string", description: type.description, enum: events.map(({ summary }) => summary) }, data: { type: "object", description: data.description } };
  const answers = Object.entries(op.responses).map(([status, { description }]) => `- ${status}: ${oneLine(description)}\n`);
  return `# A delivery

\`POST\` to the URL of your webhook. The guide says how to [receive](../../../${guide}/webhooks.md) and [verify](../../../${guide}/verify.md) it.

${section("Headers", parameters(op, "header"))}${section("Body", fields.list(Object.entries(envelope)))}${section("What your server answers", answers.join(""))}`;
};

const codePage = () => {
  const link = (op) => `[${op.summary}](operations/${op.operationId}.md)`;
  const from = ({ common, own }) => (common ? "any operation" : own.map(link).join(", ") || "requests that no operation answers");
  return `# Error codes

[Errors](../../${guide}/errors.md) shows the body of an error. Each code here has its status, its meaning and what to do.

${codes.map((one) => `## \`${one.name}\`\n\n${one.status}: ${one.meaning}\n\n**What to do:** ${one.remedy}\n\nReturned by ${from(one)}.\n`).join("\n")}`;
};

const object = ([name, schema]) => `# ${fields.title(name)}\n\n${schema.description}\n\n## Fields\n\n${fields.list(Object.entries(schema.properties).map(([field, s]) => [field, s, false]))}`;

// entry is the line of a page in reference.md, with the first paragraph of its description.
const entry = (title, file, description) => `- [${title}](${file}): ${oneLine(description.split("\n\n")[0])}\n`;
const ofOperation = (op) => entry(op.summary, `operations/${op.operationId}.md`, op.description);

const index = () => `# Reference

Every operation, event, object and error code, from the [OpenAPI document](../openapi/storefront.json).

${section("Errors", entry("Error codes", "codes.md", "Every code, with its status, its meaning and what to do."))}${document.tags.map(({ name, description }) => {
  const own = name === "Webhooks" ? events : operations.map(({ op }) => op).filter((op) => op.tags.includes(name));
  const first = name === "Webhooks" ? entry("A delivery", "operations/delivery.md", "The headers and the body of every delivery.") : "";
  return section(name, `${description}\n\n${first}${own.map(ofOperation).join("")}`);
}).join("")}${section("Objects", fields.objects().map(([name, schema]) => entry(fields.title(name), `objects/${name}.md`, schema.description)).join(""))}`;

const pages = [
  ...operations.map((one) => [`operations/${one.op.operationId}.md`, operation(one)]),
  ...events.map((op) => [`operations/${op.operationId}.md`, event(op)]),
  ...fields.objects().map((one) => [`objects/${one[0]}.md`, object(one)]),
  ["operations/delivery.md", delivery()], ["codes.md", codePage()], ["reference.md", index()],
];
if (samples.size) {
  throw new Error(`${sampleSource} has samples of what the document lacks: ${[...samples.keys()]}`);
}
for (const sub of ["operations", "objects"]) {
  mkdirSync(join(folder, sub), { recursive: true });
}
for (const [name, text] of pages) {
  writeFileSync(join(folder, name), `${text.replaceAll(/\n{3,}/g, "\n\n").trimEnd()}\n`);
}
