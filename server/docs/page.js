// What the page does beyond what it does without a script: search, copy buttons, one language for all samples,
// and the addresses of the page before this one.
(() => {
  "use strict";
  const live = document.getElementById("live");

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

  const moved = () => {
    const [, place] = location.hash.match(/^#(?:section|tag)\/(?:[^/]+\/)*(.+)$/) ?? [];
    if (!place) return;
    const id = document.getElementById(place) ? place : place.toLowerCase().replaceAll(/[^a-z0-9]+/g, "-");
    if (document.getElementById(id)) location.replace("#" + id);
  };
  moved();
  addEventListener("hashchange", moved);

  const contents = document.querySelector("nav details");
  const narrow = matchMedia("(max-width: 60rem)");
  const fold = () => { contents.open = !narrow.matches; };
  fold();
  narrow.addEventListener("change", fold);
  contents.addEventListener("click", ({ target }) => {
    if (target.closest("a") && narrow.matches) contents.open = false;
  });

  // Search: headings, fields, codes and values by their names, then sections by their words.
  const field = document.getElementById("q");
  const found = document.getElementById("found");
  let index;
  // heading is the last one before an element.
  const headings = [...document.querySelectorAll("main h2, main h3")];
  const heading = (element) => headings.findLast((one) => one.compareDocumentPosition(element) & Node.DOCUMENT_POSITION_FOLLOWING)?.textContent ?? "";
  const wordsOf = (e) => (e.classList.contains("refusal") ? e.closest("tr, li").textContent : "");
  const read = () => {
    const all = [];
    for (const e of document.querySelectorAll("main h2, main h3")) {
      const at = e.closest("section.operation, section.object");
      const id = e.id || at?.id || e.parentElement.id;
      all.push({ id, name: e.textContent, where: at?.querySelector(".route")?.textContent ?? "", words: (at ?? e.parentElement).matches(".guide, .group") ? e.textContent : at.textContent });
      if (e.closest(".guide")) {
        let words = "";
        for (let next = e.nextElementSibling; next && !/^H[23]$/.test(next.tagName); next = next.nextElementSibling) words += " " + next.textContent;
        all.at(-1).words = words;
      }
    }
    for (const e of document.querySelectorAll("code.field, code.refusal, code.value")) {
      all.push({ id: e.id || e.closest("[id]").id, name: e.textContent, where: heading(e), words: wordsOf(e) });
    }
    return all.map((one) => ({ ...one, low: one.name.toLowerCase(), words: one.words.toLowerCase() }));
  };
  const search = () => {
    const text = field.value.trim().toLowerCase();
    found.hidden = text.length < 2;
    if (found.hidden) return;
    index ??= read();
    // Words count in all their forms: retry finds retries and retried.
    const forms = "(?:ying|ies|ied|ing|ed|es|s|y|e)";
    const wanted = text.split(/\s+/).map((word) =>
      /^[a-z]{5,}$/.test(word) ? new RegExp(`${word}|\\b${word.replace(new RegExp(forms + "$"), "")}${forms}?\\b`) : { test: (words) => words.includes(word) },
    );
    const rank = (one) =>
      one.low === text ? 0 : one.low.startsWith(text) ? 1 : one.low.includes(text) ? 2 : wanted.every((word) => word.test(`${one.low} ${one.words}`)) ? 3 : 9;
    const hits = index.map((one) => [rank(one), one]).filter(([r]) => r < 9).sort((a, b) => a[0] - b[0]);
    const list = document.createElement("ul");
    for (const [, one] of hits.slice(0, 40)) {
      const link = Object.assign(document.createElement("a"), { href: "#" + one.id, textContent: one.name });
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
