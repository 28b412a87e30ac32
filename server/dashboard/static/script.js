// This script adds to the pages: dates in the reader's time zone, copy buttons, questions in a dialog, forms that are sent only
// once, and lists that show new entries. Without it, all pages work too.
(() => {
  "use strict";
  const live = document.getElementById("live");
  const announce = (text) => { live.textContent = text; };
  document.documentElement.classList.add("js");

  // The server writes times in this format too, so nothing on the page moves when the script replaces them.
  const zoned = new Intl.DateTimeFormat("en-GB", {
    day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", timeZoneName: "short",
  });
  const showTimes = (scope) => {
    for (const time of scope.querySelectorAll("time")) time.textContent = zoned.format(new Date(time.dateTime));
  };
  showTimes(document);
  for (const zone of document.querySelectorAll("[data-zone]")) {
    zone.textContent = "your time zone" + (zone.dataset.zone ? "" : `, ${zoned.resolvedOptions().timeZone.replaceAll("_", " ")}`);
  }

  // Without the script, a field for a time is in UTC. With it, the field is in the reader's time zone, and a hidden field, which
  // the form sends in its place, has the time with its zone.
  const two = (n) => String(n).padStart(2, "0");
  const local = (at) => `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
  for (const field of document.querySelectorAll("input[type=datetime-local]")) {
    const sent = Object.assign(document.createElement("input"), { type: "hidden", name: field.name, value: field.defaultValue && field.defaultValue + "Z" });
    if (sent.value) field.value = local(new Date(sent.value));
    field.removeAttribute("name");
    field.after(sent);
    field.addEventListener("input", () => { sent.value = field.value && new Date(field.value).toISOString(); });
  }

  const copy = async (button) => {
    const from = document.getElementById(button.dataset.copy);
    const text = from.value ?? from.textContent;
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // The browser does not allow the script to use the clipboard: select the text, so that the reader can copy it.
      if (from.select) from.select(); else getSelection().selectAllChildren(from);
      announce("Press the copy keys of your system to copy what is selected.");
      return;
    }
    const word = button.firstChild;
    word.data = "Copied";
    announce("Copied.");
    setTimeout(() => { word.data = "Copy"; }, 2000);
  };

  const pageOf = async (address) => {
    const answer = await fetch(address, { credentials: "same-origin" });
    if (!answer.ok) throw new Error(answer.statusText);
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  };

  const dialog = document.getElementById("dialog");
  const ask = async (link) => {
    try {
      const question = (await pageOf(link.href)).getElementById("ask");
      dialog.replaceChildren(document.importNode(question, true));
      showTimes(dialog);
      dialog.showModal();
      dialog.querySelector("[data-cancel]").focus();
    } catch {
      location.assign(link.href);
    }
  };

  document.addEventListener("click", (event) => {
    const at = event.target.closest("[data-copy], [data-ask], [data-cancel]");
    const other = event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey;
    if (!at || other) return;
    if (at.dataset.copy !== undefined) {
      copy(at);
    } else if (at.dataset.ask !== undefined && dialog.showModal) {
      event.preventDefault();
      ask(at);
    } else if (at.dataset.cancel !== undefined && dialog.open) {
      event.preventDefault();
      dialog.close();
    }
  });

  // Send a form only once. The answer to a second click would replace the first answer, and only the first answer shows a secret.
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form.dataset.sent !== undefined) event.preventDefault();
    form.dataset.sent = "";
  });
  // Forms can be sent again if the reader stops the request (Esc, or the browser's stop button), and if the reader goes back to
  // a page that the browser has stored. The secret on a stored page is removed.
  const usable = () => {
    for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent;
  };
  globalThis.navigation?.addEventListener("navigateerror", usable);
  addEventListener("pageshow", (event) => { if (event.persisted) usable(); });
  addEventListener("pagehide", () => {
    const secret = document.getElementById("secret");
    if (secret) secret.value = "shown once";
  });

  // While a page with a list is visible, the script loads it again and again and changes the list in place. Entries that stay
  // keep the focus, the selection and their open parts. While the pointer moves over a link, a button or a row, no entry is
  // added or removed, so that nothing moves away from under the pointer. The pauses become longer while nothing changes.
  let moved = -Infinity;
  for (const type of ["pointermove", "pointerdown"]) addEventListener(type, () => { moved = performance.now(); }, { passive: true });
  const aimed = (shown) => performance.now() - moved < 5000 && shown.querySelector(":is(a, button, summary, input, tr):hover") !== null;
  const change = (shown, fresh, held) => {
    const stays = (node) => !(held && node.nodeType === Node.ELEMENT_NODE);
    Idiomorph.morph(shown, fresh, {
      ignoreActiveValue: true,
      callbacks: {
        beforeNodeAdded: stays,
        beforeNodeRemoved: stays,
        beforeAttributeUpdated: (name) => !(name === "open" || name === "data-sent" || (held && name === "data-live")),
      },
    });
  };
  const follow = (pause) => {
    const shown = document.querySelector("[data-live]");
    if (!shown) return;
    setTimeout(async () => {
      let news = false;
      if (document.visibilityState === "visible") {
        try {
          const fresh = (await pageOf(location.href)).getElementById(shown.id);
          if (!fresh) return;
          showTimes(fresh);
          const held = aimed(shown);
          news = !held && fresh.dataset.live !== shown.dataset.live;
          change(shown, document.importNode(fresh, true), held);
          if (news) announce(fresh.dataset.news);
        } catch {
          // The service did not answer; the next request may succeed.
        }
      }
      follow(news ? 700 : Math.min(pause * 1.3, 10000));
    }, pause);
  };
  follow(700);
  // In a frame: when the page around it says that its reader is active, prolong the session.
  const alive = document.getElementById("keep-alive");
  if (alive && parent !== window) {
    addEventListener("message", (event) => {
      if (event.data !== "storefront:keep-alive" || event.source !== parent || !alive.dataset.ancestors.split(" ").includes(event.origin)) return;
      fetch(alive.action, { method: "POST", body: new URLSearchParams(new FormData(alive)), credentials: "same-origin" }).catch(() => {});
    });
  }
})();
