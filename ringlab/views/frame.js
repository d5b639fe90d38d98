// The parts of a player's page, its light or dark look, and its peace with the notebook around it.

const KEYS = [
  ["← →", "one round back, forward"],
  ["Space", "play, pause"],
  ["Home End", "first, last"],
  ["↑ ↓", "focus rank"],
  ["P", "next change of phase"],
  ["V", "slots or values"],
  ["T", "rounds or as it happened"],
  ["Enter", "history of a chunk, then arrows"],
  ["Esc", "close, then leave"],
  ["?", "these keys"],
];

function button(words, act, more) {
  const node = html("button", { type: "button", ...more }, words);
  node.addEventListener("click", act);
  return node;
}

// Builds the page inside the host's shadow root, which keeps the notebook's styles out. acts: step, toggle, seek.
function makeFrame(host, runs, stages, acts) {
  const key = ([name, what]) => html("li", {}, html("kbd", {}, name), ` ${what}`);
  const parts = {
    say: html("p", { class: "say" }),
    code: html("p", { class: "code" }),
    scrubber: makeScrubber(acts.seek),
    back: button("←", () => acts.step(-1), { "aria-label": "Back" }),
    play: button("", acts.toggle, { class: "play" }),
    forward: button("→", () => acts.step(1), { "aria-label": "Forward" }),
    where: html("span", { class: "where" }),
    more: button("More", () => openPanel(parts), { class: "more", "aria-expanded": "false" }),
    panel: html("div", { class: "panel", hidden: "" }),
    keys: html("ul", { class: "keys", hidden: "" }, ...KEYS.map(key)),
    table: html("div", { class: "table", tabindex: 0, role: "region", "aria-label": "Table of the rounds" }),
    tip: html("div", { class: "tip", hidden: "" }),
    live: html("div", { class: "aloud", role: "status", "aria-live": "polite" }),
  };
  const two = runs.length > 1;
  const figure = (stage, i) => html("figure", {}, two ? html("figcaption", {}, runs[i].name) : null, stage.root);
  const { say, code, scrubber, back, play, forward, where, more, panel, keys, table, tip, live } = parts;
  parts.scenery = html("div", { class: classes("scenery", { two }) }, ...stages.map(figure), tip);
  parts.details = html("details", {}, html("summary", {}, "All rounds as a table"), table);
  const bar = html("div", { class: "bar" }, back, play, forward, where, more);
  parts.frame = html("div", { class: "frame" }, parts.scenery, say, code, scrubber.root, bar);
  parts.frame.append(panel, keys, parts.details, live);
  parts.root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  // The slot holds the still picture that was there before: it is what gets printed.
  parts.root.replaceChildren(html("style", {}, STYLE), parts.frame, html("slot", {}));
  const title = `Player: ${runs.map((run) => run.name).join(" beside ")}, ${plural(runs[0].P, "rank")}`;
  element(host, { tabindex: 0, role: "group", "aria-label": title }, []);
  return parts;
}

function openPanel({ panel, more }) {
  panel.hidden = !panel.hidden;
  more.setAttribute("aria-expanded", `${!panel.hidden}`);
}

// On a full screen the whole player grows until it meets an edge.
function fillScreen(host, frame) {
  frame.style.zoom = "";
  if (document.fullscreenElement !== host) return;
  frame.style.zoom = clamp(Math.min(innerWidth / frame.offsetWidth, innerHeight / frame.offsetHeight), 1, 3);
}

// -- light and dark ------------------------------------------------------------------------------------------

function isDark() {
  const { body, documentElement: page } = document;
  if (body.dataset.jpThemeLight) return body.dataset.jpThemeLight === "false"; // JupyterLab and its pages
  const [, code] = body.className.match(/vscode-(dark|light|high-contrast-light|high-contrast)/) ?? [];
  if (code) return !code.endsWith("light");
  if (page.getAttribute("theme")) return page.getAttribute("theme") === "dark"; // Colab
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

// Follows the theme; gives { watch, leave }. The observer goes when the output leaves the page and must be told to
// watch again when it comes back, since a notebook takes outputs out of the page and puts them in again.
function makeTheme(host, frame, listen) {
  const observer = new MutationObserver(() => (host.isConnected ? recolour() : observer.disconnect()));
  function recolour() {
    frame.classList.toggle("dark", isDark());
    host.style.colorScheme = isDark() ? "dark" : "light";
  }
  function watch() {
    observer.disconnect();
    observer.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "class"] });
    recolour();
  }
  listen(matchMedia("(prefers-color-scheme: dark)"), "change", recolour);
  return { watch, leave: () => observer.disconnect() };
}

// -- keys that stay, and keys that do not ------------------------------------------------------------------------

// Shortcuts of the page and of the browser, and Shift+Enter, which goes on to the next cell.
const isForPage = (event) =>
  event.ctrlKey || event.metaKey || event.altKey || (event.key === "Enter" && event.shiftKey);

// JupyterLab's command mode also hears keys pressed in outputs (D D deletes the cell), and a click in an output would
// select its cell, so that Shift+Enter ran it again instead of going on.
function keepToItself(host, listen) {
  const guard = (event) => host.toggleAttribute("data-lm-suppress-shortcuts", !isForPage(event));
  host.toggleAttribute("data-lm-suppress-shortcuts", true);
  listen(host, "focusin", () => listen(window, "keydown", guard, true)); // before JupyterLab's own listener
  listen(host, "focusout", () => window.removeEventListener("keydown", guard, true));
  for (const name of ["mousedown", "focusin"]) listen(host, name, (event) => event.stopPropagation());
  for (const name of ["keypress", "keyup"])
    listen(host, name, (event) => isForPage(event) || event.stopPropagation());
}
