// The class Fields describes the fields of requests and objects.

import { marked } from "marked";
import { escape } from "./html.mjs";

export class Fields {
  #schemas;
  #errors;

  constructor(document) {
    this.#schemas = document.components.schemas;
    // The error bodies have no section of their own, because operations and guide describe the error codes.
    this.#errors = new Set(Object.entries(this.#schemas).filter(([, s]) => s.properties?.statusCode && s.properties?.code).map(([name]) => name));
  }

  // name returns the name of the schema to which a schema refers, itself or with its items or one of its alternatives.
  name(schema) {
    const ref = schema?.$ref ?? schema?.items?.$ref ?? schema?.oneOf?.find((one) => one.$ref)?.$ref;
    return ref?.split("/").at(-1);
  }

  object(schema) {
    return schema.$ref ? this.#schemas[this.name(schema)] : schema;
  }

  // objects returns the named schemas that get a section of their own. Requests, events and pages of lists get none. If several
  // schemas have the same fields, only the schema with the shortest name gets a section.
  objects() {
    return Object.entries(this.#schemas).filter(
      ([name, s]) => s.properties && !/(Request|Event)$/.test(name) && !this.#errors.has(name) && !this.#page(s) && this.#same(name) === name,
    );
  }

  // #page returns the name of the objects in a page of a list, if the schema is such a page.
  #page(schema) {
    return schema.properties?.total && this.name(schema.properties.data);
  }

  // #same returns the shortest name among schemas with the same fields, whose names end alike.
  #same(name) {
    const fields = (one) => Object.keys(this.#schemas[one].properties ?? {}).join();
    return Object.keys(this.#schemas).filter((one) => name.endsWith(one) && fields(one) === fields(name)).sort((a, b) => a.length - b.length)[0];
  }

  // shown returns the object whose section describes a schema. page is true if the schema is a page of such objects.
  shown(name) {
    const page = this.#page(this.#schemas[name]);
    return { page: Boolean(page), object: this.#same(page || name) };
  }

  #link(name) {
    const { page, object } = this.shown(name);
    return `${page ? 'a <a href="#lists-and-syncs">page</a> of ' : ""}<a href="#object-${object}">${escape(this.title(object))}</a>`;
  }

  title(name) {
    return name.replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ");
  }

  // reference returns a link to the section of the object to which a schema refers.
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

  // words returns the values that a field can have, if the document lists them, with their meanings.
  words(s) {
    const named = this.name(s);
    const own = named ? this.#schemas[named] : s;
    const words = own.enum ?? own["x-extensible-enum"] ?? (own.examples && own.type === "string" ? own.examples : undefined);
    const meanings = Object.fromEntries([...(own.description ?? "").matchAll(/^- `([^`]+)`: (.*)$/gm)].map(([, word, meaning]) => [word, meaning]));
    return (words ?? []).map((word) => [word, meanings[word]]);
  }

  // field returns the description of a field, and its type and bounds as facts. link returns a link to an object.
  field(s, link) {
    const description = (s.description ?? this.object(s).description ?? "").split("\n\n- ")[0];
    // Leave out bounds that the description mentions.
    const bounds = this.#bounds(s).filter((bound) => !description.includes(bound.match(/[\d,]+(?=\D*$)/)?.[0]));
    return { description, facts: [this.#type(s, link), ...bounds.map(escape)].join(" · ") };
  }

  #values(s) {
    const words = this.words(s).map(([word, meaning]) => `<li><code class="value">${escape(word)}</code>${meaning ? ` ${marked.parseInline(meaning)}` : ""}</li>`);
    return words.length ? `<ul class="values">${words.join("")}</ul>` : "";
  }

  // list returns a list of fields. Each has an id, to which links and the search lead.
  list(owner, all) {
    return `<ul class="fields">${all.map(([name, s, required]) => {
      const { description, facts } = this.field(s, (named) => this.#link(named));
      const head = `<code class="field">${escape(name)}</code> <span class="facts">${facts}</span>${required ? ' <span class="required">required</span>' : ""}`;
      return `<li id="${owner}.${escape(name)}"><p>${head} ${description ? marked.parse(description).replace(/^<p>/, "") : "</p>"}${this.#values(s)}</li>`;
    }).join("\n")}</ul>\n`;
  }
}
