// The fields of requests and objects.

import { marked } from "marked";
import { escape } from "./html.mjs";

export class Fields {
  #schemas;
  #errors;

  constructor(document) {
    this.#schemas = document.components.schemas;
    // Codes are described where they are answered; requests where they are sent.
    this.#errors = new Set(Object.entries(this.#schemas).filter(([, s]) => s.properties?.statusCode && s.properties?.code).map(([name]) => name));
  }

  // name is that of the schema that is referred to, also by an array or beside null.
  name(schema) {
    const ref = schema?.$ref ?? schema?.items?.$ref ?? schema?.oneOf?.find((one) => one.$ref)?.$ref;
    return ref?.split("/").at(-1);
  }

  object(schema) {
    return schema.$ref ? this.#schemas[this.name(schema)] : schema;
  }

  // objects are the named schemas with fields that stand in their own section. Pages are described by the guide, and what
  // has the fields of another object by that one.
  objects() {
    return Object.entries(this.#schemas).filter(
      ([name, s]) => s.properties && !/(Request|Event)$/.test(name) && !this.#errors.has(name) && !this.#page(s) && this.#same(name) === name,
    );
  }

  // page is the object of which a schema is a page.
  #page(schema) {
    return schema.properties?.total && this.name(schema.properties.data);
  }

  // same is the shortest name of an object with these fields.
  #same(name) {
    const fields = (one) => Object.keys(this.#schemas[one].properties ?? {}).join();
    return Object.keys(this.#schemas).filter((one) => name.endsWith(one) && fields(one) === fields(name)).sort((a, b) => a.length - b.length)[0];
  }

  // shown is the object that describes a named one, of which that may be a page.
  shown(name) {
    const page = this.#page(this.#schemas[name]);
    return { page: Boolean(page), object: this.#same(page || name) };
  }

  #link(name) {
    const { page, object } = this.shown(name);
    return `${page ? 'a <a href="#lists">page</a> of ' : ""}<a href="#object-${object}">${escape(this.title(object))}</a>`;
  }

  title(name) {
    return name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ");
  }

  // reference links to an object.
  reference(schema) {
    const names = schema.oneOf && !schema.$ref ? schema.oneOf.map((one) => this.name(one)) : [this.name(schema)];
    return names.filter(Boolean).map((name) => (this.#schemas[name].properties ? this.#link(name) : escape(name))).join(" or ");
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

  #type(s, link) {
    const named = this.name(s);
    const words = [];
    if (named && this.#schemas[named].properties) {
      words.push(`${s.items ? "array of " : ""}${link(named)}`);
    } else {
      const own = named && !s.items ? this.#schemas[named] : s;
      const types = [own.type ?? "string"].flat().filter((type) => type !== "null");
      words.push(escape(types.join(" or ") + (own.format && !/^int/.test(own.format) ? ` (${own.format})` : "")));
    }
    if ([s.type].flat().includes("null") || s.oneOf?.some((one) => one.type === "null")) {
      words.push("or null");
    }
    return words.join(" ");
  }

  // words are those that a field can have, with their meanings.
  words(s) {
    const named = this.name(s);
    const own = named ? this.#schemas[named] : s;
    const words = own.enum ?? own["x-extensible-enum"] ?? (own.examples && own.type === "string" ? own.examples : undefined);
    const meanings = Object.fromEntries([...(own.description ?? "").matchAll(/^- `([^`]+)`: (.*)$/gm)].map(([, word, meaning]) => [word, meaning]));
    return (words ?? []).map((word) => [word, meanings[word]]);
  }

  // field is a field's description, and its type and bounds; link makes the link to an object.
  field(s, link) {
    const description = (s.description ?? this.object(s).description ?? "").split("\n\n- ")[0];
    // What the words say already is not said twice.
    const bounds = this.#bounds(s).filter((bound) => !description.includes(bound.match(/[\d,]+(?=\D*$)/)?.[0]));
    return { description, facts: [this.#type(s, link), ...bounds.map(escape)].join(" · ") };
  }

  #values(s) {
    const words = this.words(s).map(([word, meaning]) => `<li><code class="value">${escape(word)}</code>${meaning ? ` ${marked.parseInline(meaning)}` : ""}</li>`);
    return words.length ? `<ul class="values">${words.join("")}</ul>` : "";
  }

  // list describes fields; each can be linked to and searched.
  list(owner, all) {
    return `<ul class="fields">${all.map(([name, s, required]) => {
      const { description, facts } = this.field(s, (named) => this.#link(named));
      const head = `<code class="field">${escape(name)}</code> <span class="facts">${facts}</span>${required ? ' <span class="required">required</span>' : ""}`;
      return `<li id="${owner}.${escape(name)}"><p>${head} ${description ? marked.parse(description).replace(/^<p>/, "") : "</p>"}${this.#values(s)}</li>`;
    }).join("\n")}</ul>\n`;
  }
}
