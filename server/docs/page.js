// What a page does beyond what it does without a script: search, copy buttons, one language for all samples,
// and the addresses of the time when all pages were one.
(() => {
  "use strict";
  const live = document.getElementById("site-live");

  for (const block of document.querySelectorAll(".code")) {
    const button = Object.assign(document.createElement("button"), { type: "button", className: "copy", textContent: "Copy" });
    button.addEventListener("click", async () => {
      const text = block.querySelector("code");
      try {
        await navigator.clipboard.writeText(text.textContent);
        button.textContent = "Copied";
        live.textContent = "Copied.";
        setTimeout(() => { button.textContent = "Copy"; }, 2000);
      } catch {
        getSelection().selectAllChildren(text);
        live.textContent = "Press the copy keys of your system to copy what is selected.";
      }
    });
    block.append(button);
  }

  // The choice of a language counts for every sample; what the reader looks at stays where it is.
  // It is kept for the next time, where the browser keeps anything.
  const speak = (language) => {
    for (const one of document.querySelectorAll("input[type=radio]")) if (one.value === language) one.checked = true;
  };
  const kept = "storefront-language";
  try { speak(localStorage.getItem(kept)); } catch {}
  document.addEventListener("change", ({ target }) => {
    if (target.type !== "radio") return;
    const before = target.getBoundingClientRect().top;
    speak(target.value);
    scrollBy(0, target.getBoundingClientRect().top - before);
    try { localStorage.setItem(kept, target.value); } catch {}
  });

  // index has what the search finds. The page asks for it when it needs it first.
  let index;
  const read = async () => {
    index ??= fetch("/docs/search.json").then((answer) => answer.json());
    return (await index).map((one) => ({ ...one, low: one.name.toLowerCase(), words: one.words.toLowerCase() }));
  };

  // A fragment that the first page lacks is of the page that had everything: updateProduct.title, object-Order, tag/Orders, errors.
  const moved = async () => {
    const old = decodeURIComponent(location.hash.slice(1)).replace(/^(section|tag)\/(.*\/)?|^object-|^refusal\./, "");
    if (location.pathname !== "/docs" || !old || document.getElementById(location.hash.slice(1))) return;
    const [page, field] = old.split(".");
    const slug = (text) => text.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
    const all = await read();
    const to = all.find(({ url }) => field && url.endsWith(`/${page}#${field}`)) ?? all.find(({ url }) => field && url.endsWith("#" + field)) ??
      all.find(({ url }) => url.endsWith("/" + page)) ?? all.find(({ name }) => slug(name) === slug(page)) ?? all.find(({ url }) => url.endsWith("#" + page));
    if (to) location.replace(to.url);
  };
  moved();
  addEventListener("hashchange", moved);

  const contents = document.querySelector(".contents");
  const narrow = matchMedia("(max-width: 60rem)");
  const fold = () => { contents.open = !narrow.matches; };
  fold();
  narrow.addEventListener("change", fold);
  document.querySelector("nav [aria-current]")?.scrollIntoView({ block: "nearest" });
  contents.addEventListener("click", ({ target }) => {
    if (target.closest("a") && narrow.matches) contents.open = false;
  });

  // Search: pages, headings and fields by their names, then by their words.
  const field = document.getElementById("site-q");
  const found = document.getElementById("site-found");
  const search = async () => {
    const all = await read();
    const text = field.value.trim().toLowerCase();
    found.hidden = text.length < 2;
    if (found.hidden) return;
    // Words count in all their forms: retry finds retries and retried.
    const forms = "(?:ying|ies|ied|ing|ed|es|s|y|e)";
    const wanted = text.split(/\s+/).map((word) =>
      /^[a-z]{5,}$/.test(word) ? new RegExp(`${word}|\\b${word.replace(new RegExp(forms + "$"), "")}${forms}?\\b`) : { test: (words) => words.includes(word) },
    );
    const rank = (one) =>
      one.low === text ? 0 : one.low.startsWith(text) ? 1 : one.low.includes(text) ? 2 : wanted.every((word) => word.test(`${one.low} ${one.words}`)) ? 3 : 9;
    const hits = all.map((one) => [rank(one), one]).filter(([r]) => r < 9).sort((a, b) => a[0] - b[0]);
    const list = document.createElement("ul");
    for (const [, one] of hits.slice(0, 40)) {
      const link = Object.assign(document.createElement("a"), { href: one.url, textContent: one.name });
      const where = Object.assign(document.createElement("span"), { textContent: one.where });
      link.append(" ", where);
      const item = document.createElement("li");
      item.append(link);
      list.append(item);
    }
    const none = Object.assign(document.createElement("p"), { textContent: "Nothing is called that." });
    found.replaceChildren(hits.length ? list : none);
    live.textContent = hits.length + " found.";
  };
  const close = () => { found.hidden = true; };
  field.hidden = false;
  field.addEventListener("input", search);
  field.addEventListener("focus", search);
  found.addEventListener("click", ({ target }) => { if (target.closest("a")) close(); });
  document.addEventListener("click", ({ target }) => { if (!target.closest("header")) close(); });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") close();
    if (event.key === "/" && !/^(INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName)) {
      event.preventDefault();
      field.focus();
    }
    if ((event.key === "ArrowDown" || event.key === "ArrowUp") && !found.hidden) {
      const links = [...found.querySelectorAll("a")];
      const next = links.indexOf(document.activeElement) + (event.key === "ArrowDown" ? 1 : -1);
      event.preventDefault();
      (links[next] ?? field).focus();
    }
    if (event.key === "Enter" && document.activeElement === field) found.querySelector("a")?.click();
  });
})();
