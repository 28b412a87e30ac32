// markdownFiles returns the reference as Markdown files for programs: the guide, a file for each operation and event, and
// llms.txt, which lists the others. Each file can be read alone. Links are relative, so they work at any address.

export const markdownFiles = ({ document, fields, languages, refusals, common, operations }) => {
  const title = (name) => fields.title(name);
  const linked = (name) => {
    const { page, object } = fields.shown(name);
    return page ? `a page of ${title(object)}` : title(object);
  };
  // Links in the document lead to headings of the guide, or to files under /docs/. Make them relative.
  const relative = (text = "", up = "") => text.replaceAll("](/docs/", `](${up}`).replaceAll("](#", up ? `](${up}guide.md#` : "](#");
  const block = (language, text) => `\`\`\`${language}\n${text.trimEnd()}\n\`\`\`\n`;
  const section = (heading, text) => (text ? `## ${heading}\n\n${text}\n` : "");

  const list = (all) =>
    all.map(([name, s, required]) => {
      const { description, facts } = fields.field(s, linked);
      const words = fields.words(s).map(([word, meaning]) => `  - \`${word}\`${meaning ? ` ${meaning}` : ""}\n`);
      const head = `- \`${name}\` (${facts}${required ? ", required" : ""})`;
      return `${head}${description ? ` ${relative(description, "../").replaceAll("\n", " ")}` : ""}\n${words.join("")}`;
    }).join("");
  const properties = (schema) => {
    const object = fields.object(schema);
    return list(Object.entries(object.properties).map(([name, s]) => [name, s, object.required?.includes(name)]));
  };
  const parameters = (op, at) => list((op.parameters ?? []).filter((p) => p.in === at).map((p) => [p.name, { ...p.schema, description: p.description }, p.required]));

  // objects returns the objects to which a schema refers, and the objects to which these refer, each once.
  const objects = (schema, seen = new Set()) => {
    for (const one of [schema, ...(schema?.oneOf ?? [])]) {
      const name = fields.name(one);
      const own = name && fields.object({ $ref: `/${fields.shown(name).object}` });
      if (own?.properties && !seen.has(own)) {
        seen.add(own);
        Object.values(own.properties).forEach((s) => objects(s, seen));
      }
    }
    return seen;
  };
  const described = (schema) =>
    [...objects(schema)].map((object) => {
      const [name] = Object.entries(document.components.schemas).find(([, s]) => s === object);
      return section(`The object ${title(name)}`, `${relative(object.description, "../")}\n\n${list(Object.entries(object.properties))}`);
    }).join("");

  const operation = ({ verb, path, op, programs, status, value }) => {
    const sent = op.requestBody?.content["application/json"].schema;
    const [, answered] = Object.entries(op.responses).find(([code]) => status.startsWith(code));
    const schema = answered.content["application/json"].schema;
    const own = refusals(op).filter(({ name }) => !common.has(name)).map((one) => `- ${one.status} \`${one.name}\`: ${relative(one.meaning, "../")}\n`);
    return `# ${op.summary}

\`${verb.toUpperCase()} ${path}\`

${relative(op.description, "../")}

${section("Path", parameters(op, "path"))}${section("Query", parameters(op, "query"))}${section("Body", sent && properties(sent))}${section(
      "Answer",
      `${status}, ${linked(fields.name(schema))}:\n\n${block("json", JSON.stringify(value, null, 2))}`,
    )}${section("Refusals", `${own.join("")}- what [any operation](../guide.md#errors) can be refused with\n`)}${section(
      "Samples",
      Object.entries(programs).map(([language, text]) => `${languages[language]}:\n\n${block(language, text)}`).join("\n"),
    )}${described(schema)}`;
  };

  const event = (op) => {
    const content = op.requestBody.content["application/json"];
    const data = fields.object(content.schema).properties.data;
    return `# ${op.summary}

${relative(op.description, "../")}

The guide describes [how it is delivered and verified](../guide.md#receiving-webhooks), and how to [ship exactly once](../guide.md#ship-exactly-once).

${section("Headers", parameters(op, "header"))}${section("Body", block("json", JSON.stringify(Object.values(content.examples)[0].value, null, 2)))}${described(data)}`;
  };

  const events = Object.values(document.webhooks).map(({ post }) => post);
  const name = (op) => `operations/${op.operationId}.md`;
  const entry = (op) => `- [${op.summary}](${name(op)}): ${op.description.split("\n\n")[0].replaceAll("\n", " ")}\n`;
  const tidy = (text) => `${text.replaceAll(/\n{3,}/g, "\n\n").trimEnd()}\n`;
  const [about] = document.info.description.split("\n\n");
  const files = [
    ["llms.txt", `# ${document.info.title}

> ${about.replaceAll("\n", "\n> ")}

Its address is ${document.servers[0].variables.baseUrl.default}.

## Guide

- [Guide](guide.md): ${[...document.info.description.matchAll(/^# (.+)$/gm)].map(([, heading]) => heading).join(", ")}
- [OpenAPI document](openapi.json): all operations, objects and events, as OpenAPI 3.1

${document.tags.map((tag) => {
      const all = tag.name === "Webhooks" ? events : operations.map(({ op }) => op).filter((op) => op.tags.includes(tag.name));
      return section(tag.name, all.map(entry).join(""));
    }).join("\n")}`],
    ["guide.md", `# ${document.info.title}\n\n${relative(document.info.description).replaceAll(/^```[^]*?^```$|^#/gm, (found) => (found === "#" ? "##" : found))}`],
    ...operations.map((one) => [name(one.op), operation(one)]),
    ...events.map((op) => [name(op), event(op)]),
  ];
  return files.map(([file, text]) => [file, tidy(text)]);
};
