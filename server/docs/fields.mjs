// The class Fields describes the fields of requests and objects as Markdown.

export class Fields {
  #schemas;
  #errors;

  constructor(schemas) {
    this.#schemas = schemas;
    // The error bodies have no page of their own, because the guide and the error codes describe them.
    this.#errors = new Set(Object.entries(schemas).filter(([, s]) => s.properties?.statusCode && s.properties?.code).map(([name]) => name));
  }

  // #name returns the name of the schema to which a schema refers, itself or with its items or one of its alternatives.
  #name(schema) {
    const ref = schema?.$ref ?? schema?.items?.$ref ?? schema?.oneOf?.find((one) => one.$ref)?.$ref;
    return ref?.split("/").at(-1);
  }

  object(schema) {
    return schema.$ref ? this.#schemas[this.#name(schema)] : schema;
  }

  // objects returns the named schemas that get a page of their own. Requests, events and pages of lists get none. If several
  // schemas have the same fields, only the schema with the shortest name gets a page.
  objects() {
    return Object.entries(this.#schemas).filter(
      ([name, s]) => s.properties && !/(Request|Event)$/.test(name) && !this.#errors.has(name) && !this.#listed(s) && this.#same(name) === name,
    );
  }

  // #listed returns the name of the objects in a page of a list, if the schema is such a page.
  #listed(schema) {
    return schema.properties?.total && this.#name(schema.properties.data);
  }

  // #same returns the shortest name among schemas with the same fields, whose names end alike.
  #same(name) {
    const fields = (one) => Object.keys(this.#schemas[one].properties ?? {}).join();
    return Object.keys(this.#schemas).filter((one) => name.endsWith(one) && fields(one) === fields(name)).sort((a, b) => a.length - b.length)[0];
  }

  #link(name) {
    const listed = this.#listed(this.#schemas[name]);
    const object = this.#same(listed || name);
    return `${listed ? "a [page](../../../cmd/openapi/guide/lists.md) of " : ""}[${this.title(object)}](../objects/${object}.md)`;
  }

  title(name) {
    return name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ");
  }

  // reference returns a link to the page of the object to which a schema refers.
  reference(schema) {
    const names = schema.oneOf && !schema.$ref ? schema.oneOf.map((one) => this.#name(one)) : [this.#name(schema)];
    return names.filter(Boolean).map((name) => (this.#schemas[name].properties ? this.#link(name) : name)).join(" or ");
  }

  #bounds(s) {
    const words = [];
    const whole = (n) => n.toLocaleString("en");
    if (s.minLength !== undefined || s.maxLength !== undefined) {
      words.push(`${s.minLength ? `${whole(s.minLength)} to ` : "at most "}${whole(s.maxLength)} characters`);
    }
    if (s.minimum !== undefined || s.maximum !== undefined) {
      words.push(s.maximum === undefined ? `from ${s.minimum}` : `${s.minimum ?? "…"} to ${s.maximum}`);
    }
    if (s.default !== undefined) {
      words.push(`default ${JSON.stringify(s.default)}`);
    }
    return words;
  }

  #type(s) {
    const named = this.#name(s);
    let type;
    if (named && this.#schemas[named].properties) {
      type = `${s.items ? "array of " : ""}${this.#link(named)}`;
    } else {
      const own = named && !s.items ? this.#schemas[named] : s;
      type = own.format && !/^int/.test(own.format) ? own.format : [own.type ?? "string"].flat().filter((one) => one !== "null").join(" or ");
    }
    return [s.type].flat().includes("null") || s.oneOf?.some((one) => one.type === "null") ? `${type} or null` : type;
  }

  // #words returns the values that a field can have, if the document lists them, with their meanings.
  #words(s) {
    const named = this.#name(s);
    const own = named ? this.#schemas[named] : s;
    const words = own.enum ?? own["x-extensible-enum"] ?? (own.examples && own.type === "string" ? own.examples : undefined);
    const meanings = Object.fromEntries([...(own.description ?? "").matchAll(/^- `([^`]+)`: (.*)$/gm)].map(([, word, meaning]) => [word, meaning]));
    return (words ?? []).map((word) => `  - \`${word}\`${meanings[word] ? `: ${meanings[word]}` : ""}\n`).join("");
  }

  // list returns a list of fields, each given as its name, its schema and whether it is required.
  list(all) {
    return all.map(([name, s, required]) => {
      const description = (s.description ?? this.object(s).description ?? "").split("\n\n- ")[0];
      // Leave out bounds that the description mentions.
      const bounds = this.#bounds(s).filter((bound) => !description.includes(bound.match(/[\d,]+(?=\D*$)/)?.[0]));
      const facts = [this.#type(s), ...bounds, ...(required ? ["required"] : [])].join(" · ");
      return `- \`${name}\` (${facts}) ${description.replaceAll(/\s*\n\s*/g, " ")}`.trimEnd() + `\n${this.#words(s)}`;
    }).join("");
  }
}
