// These functions convert texts to HTML.

import Prism from "prismjs";
import loadLanguages from "prismjs/components/index.js";

loadLanguages(["bash", "go", "typescript", "json", "php", "python", "http", "sql"]);

export const escape = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

// slug returns the id of a heading.
export const slug = (text) => text.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-").replaceAll(/^-|-$/g, "");

const grammars = { sh: "bash", ts: "typescript" };

// code returns a block of code with colours. Readers can scroll a wide block with the keyboard.
export const code = (text, language = "") => {
  const name = grammars[language] ?? language;
  const grammar = Prism.languages[name];
  const html = grammar ? Prism.highlight(text.trimEnd(), grammar, name) : escape(text.trimEnd());
  return `<div class="code"><pre tabindex="0"><code>${html}</code></pre></div>`;
};

// span shortens the class names of Prism's colours, and removes the colours that page.css does not have.
const kept = { keyword: "k", string: "s", property: "p", number: "n", boolean: "n", comment: "c", "template-string": "s", "function-variable": "f" };
export const span = (page) => {
  const open = [];
  return page.replaceAll(/<span class="token ([\w -]+)">|<span\b|<\/span>/g, (tag, classes) => {
    if (tag === "</span>") {
      return open.pop() ?? tag;
    }
    if (!classes) {
      open.push("</span>");
      return tag;
    }
    const found = classes.split(" ").map((name) => kept[name]).find(Boolean);
    open.push(found ? "</span>" : "");
    return found ? `<span class="${found}">` : "";
  });
};
