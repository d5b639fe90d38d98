// The player: stage, one sentence, scrubber and controls; everything else behind More.
//
// mountRing(host, data, options) shows a recorded run in `host`. options: ask (a rank), beside (data of a second
// run), focus (a rank). It gives back { go(stop), focus(rank), on(listener), leave() }.

const FLIGHT = 560; // milliseconds that a message is on its way
const ROUND = 700; // of a whole round, at speed 1

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

function isDark() {
  const { body, documentElement: page } = document;
  if (body.dataset.jpThemeLight) return body.dataset.jpThemeLight === "false"; // JupyterLab and its pages
  if (/vscode-(dark|light|high)/.test(body.className))
    return !/vscode-(light|high-contrast-light)/.test(body.className);
  if (page.getAttribute("theme")) return page.getAttribute("theme") === "dark"; // Colab
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

// Shortcuts of the page and of the browser, and Shift+Enter, which goes on to the next cell.
const isForPage = (event) =>
  event.ctrlKey || event.metaKey || event.altKey || (event.key === "Enter" && event.shiftKey);

// JupyterLab's command mode also hears keys pressed in outputs (D D deletes the cell), and a click in an output would
// select its cell, so that Shift+Enter ran it again instead of going on.
function keepToItself(host, listen) {
  const guard = (event) => host.toggleAttribute("data-lm-suppress-shortcuts", !isForPage(event));
  host.toggleAttribute("data-lm-suppress-shortcuts", true);
  listen(host, "focusin", () => window.addEventListener("keydown", guard, true)); // before JupyterLab's own listener
  listen(host, "focusout", () => window.removeEventListener("keydown", guard, true));
  for (const name of ["mousedown", "focusin"]) listen(host, name, (event) => event.stopPropagation());
  for (const name of ["keypress", "keyup"])
    listen(host, name, (event) => isForPage(event) || event.stopPropagation());
}

function mountRing(host, data, options = {}) {
  const runs = [data, options.beside].filter(Boolean).map(readRun);
  const [run] = runs;
  const longest = runs.reduce((a, b) => (b.R > a.R ? b : a));
  const stops = runs.length > 1 ? longest.stops.filter(({ kind }) => kind !== "turn") : run.stops;
  const quiz = options.ask == null || runs.length > 1 ? null : makeQuiz(run, options.ask);
  const calm = matchMedia("(prefers-reduced-motion: reduce)");
  const listeners = [];
  const state = {
    s: 0, // the stop where the player stands, or that it is entering
    flying: false, // its messages are on their way
    playing: false,
    catchingUp: false, // after an answer: on to the next question
    lead: "", // what a question's answer puts before the sentence
    told: false, // an explanation stands in the place of the sentence
    speed: 1,
    focus: quiz ? quiz.rank : clamp(options.focus ?? 1, 0, run.P - 1),
    asValue: false,
    byTime: false,
    now: 0, // microseconds, in real time
    cursor: null, // the chunk that is looked at
    roving: false, // the arrow keys move the cursor
    path: null,
  };

  // -- the parts ---------------------------------------------------------------------------------------------

  const button = (words, act, more) => {
    const node = html("button", { type: "button", ...more }, words);
    node.addEventListener("click", act);
    return node;
  };
  const stages = runs.map(makeStage);
  const scrubber = makeScrubber(seek);
  const say = html("p", { class: "say" });
  const code = html("p", { class: "code" });
  const back = button("←", () => step(-1), { "aria-label": "Back" });
  const play = button("", toggle, { class: "play" });
  const forward = button("→", () => step(1), { "aria-label": "Forward" });
  const where = html("span", { class: "where" });
  const more = button("More", openPanel, { class: "more", "aria-expanded": "false" });
  const panel = html("div", { class: "panel", hidden: "" });
  const key = ([name, what]) => html("li", {}, html("kbd", {}, name), ` ${what}`);
  const keys = html("ul", { class: "keys", hidden: "" }, ...KEYS.map(key));
  const table = html("div", { class: "table", tabindex: 0, role: "region", "aria-label": "Table of the rounds" });
  const details = html("details", {}, html("summary", {}, "All rounds as a table"), table);
  const tip = html("div", { class: "tip", hidden: "" });
  const live = html("div", { class: "aloud", role: "status", "aria-live": "polite" });
  const titled = (stage, i) =>
    html("figure", {}, runs.length > 1 ? html("figcaption", {}, runs[i].name) : null, stage.root);
  const scenery = html("div", { class: runs.length > 1 ? "scenery two" : "scenery" }, ...stages.map(titled), tip);
  const bar = html("div", { class: "bar" }, back, play, forward, where, more);
  const frame = html("div", { class: "frame" }, scenery, say, code, scrubber.root, bar, panel, keys, details, live);
  const root = host.shadowRoot ?? host.attachShadow({ mode: "open" });
  root.replaceChildren(html("style", {}, STYLE), frame, html("slot", {}));
  const title = `Player: ${runs.map((x) => x.name).join(" beside ")}, ${plural(run.P, "rank")}`;
  element(host, { tabindex: 0, role: "group", "aria-label": title }, []);

  // -- where it stands -----------------------------------------------------------------------------------------

  const last = () => (quiz ? quiz.last() : stops.length - 1);
  const asking = () => !!quiz?.open() && state.s === quiz.last() && !state.flying;
  const round = () => stops[state.s].t;

  // With two runs there is one clock of rounds; the shorter run waits at its end.
  function stopOf(one) {
    if (runs.length === 1) return state.s;
    const { kind, t } = stops[state.s];
    const same = one.stops.findIndex((stop) => stop.kind === kind && (kind !== "round" || stop.t === t));
    return same < 0 ? one.stops.length - 1 : same;
  }

  function sceneOf(one) {
    if (state.byTime) return sceneAtTime(one, state.now);
    const s = stopOf(one);
    const scene = sceneAtStop(one, s, state.flying && one.stops[s].kind === "round");
    // What a rank is going to send first is the answer to a question.
    if (quiz?.open()) for (const r in scene.cards) if (scene.cards[r].own) delete scene.cards[r];
    return scene;
  }

  function paint() {
    const ask = asking() ? quiz.rank : null;
    runs.forEach((one, i) => {
      const mine = i ? { cursor: null, path: null } : {};
      stages[i].draw(sceneOf(one), { ...state, ask, ...mine });
      stages[i].root.setAttribute("role", asking() ? "group" : "img");
    });
    host.dataset.step = state.s;
    host.dataset.playing = state.playing;
    host.dataset.focus = state.focus;
  }

  // -- what it says ----------------------------------------------------------------------------------------------

  const sentence = (aloud) =>
    runs
      .map((one) => `${runs.length > 1 ? `${one.name}: ` : ""}${narrate(one, stopOf(one), state.focus, aloud)}`)
      .join("\n");

  function timeWords() {
    const { rounds, flights } = sceneAtTime(run, state.now);
    if (state.now >= run.span) return `As it happened: over after ${micro(run.span)}.`;
    const [first, slowest] = [Math.max(...rounds), Math.min(...rounds)];
    const behind = `Rank ${rounds.indexOf(slowest)} is ${plural(first - slowest, "round")} behind rank ${rounds.indexOf(first)}.`;
    const ranks = first > slowest ? behind : "All ranks are in the same round.";
    return `As it happened, after ${micro(state.now)}: ${plural(flights.length, "message")} under way. ${ranks}`;
  }

  function lines(aloud) {
    if (state.byTime) return [timeWords()];
    if (asking()) {
      const before = state.lead || (state.s ? sentence(aloud) : `You are rank ${quiz.rank}.`);
      return [before, quiz.question()];
    }
    const words = [`${state.lead} ${sentence(aloud)}`.trim()];
    if (quiz?.open() && !state.catchingUp) words.push(quiz.ahead());
    if (quiz && !quiz.open() && state.s === last()) words.push(quiz.score());
    return words;
  }

  function write(into, texts, strong) {
    const parts = texts.flatMap((text) => text.split("\n"));
    into.replaceChildren(...parts.map((text, i) => html(strong && i ? "strong" : "span", {}, text)));
  }

  // All but the picture. `aloud`: a step by hand, so a screen reader hears it.
  function tell(aloud) {
    state.told = false;
    const words = lines(false);
    write(say, words, !!quiz);
    if (aloud) live.textContent = lines(true).join(" ");
    showSource();
    showControls();
    const label = `${where.textContent}. ${words.join(" ")}`;
    stages.forEach((stage, i) => stage.root.setAttribute("aria-label", `${runs[i].name}: ${label}`));
    if (details.open) fillTable();
    listeners.forEach((listener) => listener(state));
  }

  function showSource() {
    const shown = runs.length === 1 && run.source && !quiz?.open() && run.moves.some((m) => m.line);
    code.hidden = !shown;
    if (!shown) return;
    const found = stops[state.s].kind === "round" && !state.byTime ? sourceOfRound(run, round(), state.focus) : [];
    const row = ({ no, text, filled }) =>
      html("span", {}, `line ${no}  `, html("strong", {}, filled), filled === text ? "" : `   ${text}`);
    code.replaceChildren(...found.map(row));
  }

  function showControls() {
    const { kind, t } = stops[state.s];
    const ends = { start: "start", turn: "between the phases", done: "end", failed: "stopped" };
    const place = kind === "round" ? `round ${t} of ${longest.R}` : ends[kind];
    where.textContent = state.byTime ? `${micro(state.now)} of ${micro(run.span)}` : place;
    if (state.byTime) scrubber.drawTime(state.now, run.span, where.textContent);
    else scrubber.drawStops(stops, longest.phases, state.s, last(), where.textContent);
    back.disabled = state.byTime ? state.now <= 0 : state.s === 0;
    forward.disabled = state.byTime ? state.now >= run.span : state.s >= last();
    play.hidden = !!quiz?.open();
    play.disabled = stops.length < 3;
    play.textContent = state.playing ? "❚❚ Pause" : forward.disabled ? "↻ Again" : "▶\uFE0E Play";
  }

  // What was asked for with a click or Enter stands in the place of the sentence until the next step.
  function explain(texts) {
    write(say, texts);
    live.textContent = texts.join(" ");
    state.told = true;
  }

  function fillTable() {
    const known = quiz?.open() ? Math.max(0, stops[last()].t + 1) : run.R;
    if (table.querySelectorAll("tbody tr").length !== known || !table.firstChild)
      table.replaceChildren(...runs.map((one) => tableOf(one, quiz ? known : one.R)));
  }

  // -- motion ------------------------------------------------------------------------------------------------------

  let pending = 0; // the animation frame that was asked for
  let before = 0; // when the last one came
  let elapsed = 0; // milliseconds at this stop, at speed 1

  function go(s, { jump = false, aloud = false, lead = "" } = {}) {
    state.s = clamp(s, 0, last());
    state.lead = lead;
    state.path = state.cursor = null;
    state.roving = false;
    state.flying = !jump && !calm.matches && stops[state.s].kind === "round";
    elapsed = state.flying ? 0 : FLIGHT;
    tip.hidden = true;
    paint();
    tell(aloud);
    if (state.flying || state.playing || state.catchingUp) animate();
  }

  function animate() {
    cancelAnimationFrame(pending);
    before = performance.now();
    pending = requestAnimationFrame(tick);
  }

  function tick(now) {
    const dt = Math.min(100, now - before) * state.speed;
    before = now;
    if (!host.isConnected) return stop();
    if (state.byTime) return tickTime(dt);
    elapsed += dt;
    if (state.flying && elapsed >= FLIGHT) land();
    else if (state.flying) stages.forEach((stage) => stage.fly(elapsed / FLIGHT));
    const going = state.playing || state.catchingUp;
    const slow = stops[state.s].kind === "turn" || calm.matches;
    if (going && elapsed >= (slow ? 2 : 1) * ROUND) {
      if (state.s < last()) return go(state.s + 1, { aloud: state.catchingUp });
      return stop();
    }
    if (going || state.flying) pending = requestAnimationFrame(tick);
  }

  function tickTime(dt) {
    state.now = Math.min(run.span, state.now + (dt * run.span) / (ROUND * run.R));
    if (state.now >= run.span) state.playing = false;
    paint();
    tell();
    if (state.playing) pending = requestAnimationFrame(tick);
  }

  function land() {
    state.flying = false;
    paint();
    if (quiz && state.s === last()) {
      state.catchingUp = false;
      state.lead = "";
      tell(true);
    }
  }

  // A move under way is finished at once; after an answer, so is the way to the next question.
  function settle() {
    cancelAnimationFrame(pending);
    if (state.flying) land();
    if (state.catchingUp) {
      state.catchingUp = false;
      go(last(), { jump: true, aloud: true });
    }
  }

  function stop() {
    const wasCatchingUp = state.catchingUp;
    state.playing = state.catchingUp = false;
    paint();
    tell(wasCatchingUp);
    if (state.flying) animate();
  }

  function toggle() {
    if (state.playing) return stop();
    if (play.disabled || play.hidden) return;
    settle();
    state.playing = true;
    if (!state.byTime) return go(state.s >= last() ? 0 : state.s + 1);
    if (state.now >= run.span) state.now = 0;
    animate();
  }

  function step(by) {
    state.playing = false;
    if (state.byTime) return stepTime(by);
    settle();
    if (by < 0 || state.s < last()) return go(state.s + by, { jump: by < 0, aloud: true });
    state.lead = asking() ? "First choose a chunk." : "";
    tell(asking());
  }

  function jumpTo(s) {
    state.playing = false;
    settle();
    if (state.byTime) setTime(s > 0 ? run.span : 0);
    else go(s, { jump: true, aloud: true });
  }

  function seek(u) {
    state.playing = false;
    if (state.byTime) return setTime(u * run.span);
    settle();
    go(Math.round(u * (stops.length - 1)), { jump: true, aloud: true });
  }

  function setTime(now) {
    state.now = clamp(now, 0, run.span);
    paint();
    tell(true);
  }

  // In real time a step goes to the next (or last) arrival.
  function stepTime(by) {
    const ends = run.byLanding.map((m) => m.times[3]);
    setTime(by > 0 ? (ends.find((x) => x > state.now) ?? run.span) : (ends.findLast((x) => x < state.now) ?? 0));
  }

  // The next stop at which the phase changes, then the end, then the start again.
  function phaseAfter(s) {
    const differs = ({ kind, t }) => kind === "round" && t > 0 && longest.phases[t] !== longest.phases[t - 1];
    const turns = stops.flatMap((x, i) => (x.kind === "turn" || (run.turn < 0 && differs(x)) ? [i] : []));
    return [...turns, last()].find((i) => i > s && i <= last()) ?? 0;
  }

  // -- choosing and pointing ---------------------------------------------------------------------------------------

  function choose(r, c) {
    const verdict =
      r === quiz.rank ? quiz.choose(c) : { text: `You are rank ${quiz.rank}: choose in your own column.` };
    host.dataset.right = !!verdict.right;
    if (verdict.right) {
      state.catchingUp = true;
      return go(state.s + 1, { aloud: true, lead: verdict.text });
    }
    state.lead = verdict.text;
    state.cursor = verdict.reveal == null ? null : [quiz.rank, verdict.reveal];
    paint();
    tell(true);
  }

  // What can be said about a thing on stage: { lines, path }. `full`: with its history.
  function about(one, found, full) {
    const { held } = sceneOf(one);
    if (found.kind === "cell") {
      const whole = full && one.known && !state.byTime;
      if (whole) return historyWords(one, found.r, found.c, one.stops[stopOf(one)].t, quiz?.open() ? round() : one.R);
      return { lines: [cellWords(one, held, found.r, found.c)] };
    }
    if (found.kind === "move") {
      const m = one.moves[found.n];
      const clock = m.times ? `, ${micro(m.times[0])} to ${micro(m.times[3] ?? m.times[1])}` : "";
      const what = `${chunkText(one, m.chunks)} from rank ${m.src} to rank ${m.dst}`;
      return { lines: [`Round ${m.t}: ${what}, ${plural(m.nbytes, "byte")}${clock}.`] };
    }
    const t = one.stops[stopOf(one)].t;
    const count = (moves) =>
      `${plural(moves.length, "message")}, ${plural(
        moves.reduce((n, m) => n + m.nbytes, 0),
        "byte",
      )}`;
    const out = one.moves.filter((m) => m.src === found.r && m.t <= t);
    const into = one.moves.filter((m) => m.dst === found.r && m.land && m.land.t <= t);
    return { lines: [`Rank ${found.r} so far: out ${count(out)};`, `in ${count(into)}.`] };
  }

  function showTip(texts, event) {
    tip.replaceChildren(...texts.map((text) => html("p", {}, text)));
    tip.hidden = false;
    const box = scenery.getBoundingClientRect();
    const point = { left: event.clientX, right: event.clientX, top: event.clientY, bottom: event.clientY };
    const at = event.target.closest("[data-hit]")?.getBoundingClientRect() ?? point;
    const above = at.top - box.top - tip.offsetHeight - 6;
    const left = (at.left + at.right) / 2 - box.left - tip.offsetWidth / 2;
    tip.style.left = `${clamp(left, 0, Math.max(0, box.width - tip.offsetWidth))}px`;
    tip.style.top = `${above < -40 ? at.bottom - box.top + 6 : above}px`;
  }

  function hover(i, event) {
    const found = event.pointerType === "touch" ? null : stages[i].hit(event);
    if (found) showTip(about(runs[i], found).lines, event);
    else tip.hidden = true;
  }

  function click(i, event) {
    settle();
    const found = stages[i].hit(event);
    tip.hidden = true;
    if (asking() && found?.kind === "cell") return choose(found.r, found.c);
    state.cursor = state.path = null;
    state.roving = false;
    if (!found) {
      if (state.told) tell();
      return paint();
    }
    if (found.kind === "rank" && !quiz) setFocus(found.r);
    const { lines: texts, path } = about(runs[i], found, true);
    if (i === 0) state.path = path ?? null;
    if (i === 0 && found.kind === "cell") state.cursor = [found.r, found.c];
    paint();
    explain(texts);
  }

  function setFocus(r) {
    state.focus = clamp(r, 0, run.P - 1);
    focusBox.value = state.focus;
    paint();
    tell();
  }

  // -- the cursor: chunks by keyboard --------------------------------------------------------------------------------

  function placeCursor(r, c) {
    state.cursor = [clamp(r, 0, run.P - 1), clamp(c, 0, run.C - 1)];
    const found = { kind: "cell", r: state.cursor[0], c: state.cursor[1] };
    const { lines: texts, path } = about(run, found, !asking());
    state.path = path ?? null;
    paint();
    if (asking()) live.textContent = texts.join(" ");
    else explain(texts);
  }

  function startCursor() {
    if (!run.known) return;
    const landings = run.rounds[round()]?.landings.filter((m) => m.dst === state.focus) ?? [];
    state.roving = true;
    placeCursor(state.focus, landings.flatMap((m) => m.land.changes)[0]?.c ?? 0);
  }

  // -- keys: everything by keyboard, and nothing leaks out to the notebook -------------------------------------------

  const ARROWS = { ArrowUp: [0, -1], ArrowDown: [0, 1], ArrowLeft: [-1, 0], ArrowRight: [1, 0] };
  const ACTIONS = {
    ArrowRight: () => step(1),
    ArrowLeft: () => step(-1),
    " ": toggle,
    Home: () => jumpTo(0),
    End: () => jumpTo(last()),
    ArrowUp: () => setFocus(state.focus - 1),
    ArrowDown: () => setFocus(state.focus + 1),
    p: () => jumpTo(phaseAfter(state.s)),
    v: () => setValues(!state.asValue),
    t: () => setClock(!state.byTime),
    "?": openKeys,
    Enter: startCursor,
    Escape: leaveOrClose,
  };

  // While a question is open: digits, or up and down and Enter, choose a chunk.
  function askKey(name) {
    const [, c] = state.cursor ?? [];
    const by = name === "ArrowUp" ? -1 : name === "ArrowDown" ? 1 : 0;
    if (/^\d$/.test(name) && +name < run.C) choose(quiz.rank, +name);
    else if (name === "Enter" && state.cursor) choose(quiz.rank, c);
    else if (by) placeCursor(quiz.rank, state.cursor ? c + by : by > 0 ? 0 : run.C - 1);
    else return false;
    return true;
  }

  function cursorKey(name) {
    if (!ARROWS[name]) return false;
    placeCursor(state.cursor[0] + ARROWS[name][0], state.cursor[1] + ARROWS[name][1]);
    return true;
  }

  function onKey(event) {
    if (event.key === "Tab" || isForPage(event)) return;
    event.stopPropagation();
    const target = root.activeElement;
    const presses = event.key === "Enter" || event.key === " ";
    if (target?.matches("select") || (presses && target?.matches("button, summary"))) return;
    const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (presses && target?.matches(".choice")) choose(quiz.rank, +target.dataset.hit.split(" ")[2]);
    else if (asking() && askKey(name)) state.told = false;
    else if (state.roving && cursorKey(name)) state.told = true;
    else if (ACTIONS[name]) ACTIONS[name]();
    else return;
    event.preventDefault();
  }

  function leaveOrClose() {
    if (!keys.hidden || !tip.hidden || state.told || state.cursor) {
      keys.hidden = tip.hidden = true;
      state.cursor = state.path = null;
      state.roving = false;
      paint();
      return tell();
    }
    root.activeElement?.blur();
    host.blur();
    host.closest(".jp-Notebook")?.focus();
  }

  // -- behind More ---------------------------------------------------------------------------------------------------

  const pressed = []; // buttons that show a choice, with the question whether it is theirs

  function group(name, ...choices) {
    const nodes = choices.map(([words, isOn, act]) => {
      const node = button(words, act);
      pressed.push([node, isOn]);
      return node;
    });
    panel.append(html("div", { role: "group", "aria-label": name }, html("span", {}, name), ...nodes));
  }

  const showPressed = () => pressed.forEach(([node, isOn]) => node.setAttribute("aria-pressed", `${isOn()}`));

  function setSpeed(speed) {
    state.speed = speed;
    showPressed();
  }

  function setValues(on) {
    if (!run.values || !run.known || run.P > 8) return;
    state.asValue = on;
    showPressed();
    paint();
  }

  function setClock(byTime) {
    if (!run.timed || runs.length > 1) return explain(["No times here: rl.show(run, times=True) has them."]);
    if (quiz?.open()) return;
    settle();
    Object.assign(state, { byTime, playing: false, now: 0, cursor: null, path: null });
    showPressed();
    paint();
    tell(true);
  }

  function openPanel() {
    panel.hidden = !panel.hidden;
    more.setAttribute("aria-expanded", `${!panel.hidden}`);
  }

  function openKeys() {
    keys.hidden = !keys.hidden;
  }

  const speedIs = (words, speed) => [words, () => state.speed === speed, () => setSpeed(speed)];
  group("speed", speedIs("½", 0.5), speedIs("1", 1), speedIs("2", 2));
  const valuesAre = (words, on) => [words, () => state.asValue === on, () => setValues(on)];
  if (run.known && run.values && run.P <= 8) group("show", valuesAre("slots", false), valuesAre("values", true));
  const clockIs = (words, on) => [words, () => state.byTime === on, () => setClock(on)];
  if (run.timed && runs.length === 1) group("clock", clockIs("rounds", false), clockIs("as it happened", true));
  const ranks = Array.from({ length: run.P }, (_, r) => html("option", { value: r }, `rank ${r}`));
  const focusBox = html("select", { "aria-label": "Focus rank" }, ...ranks);
  focusBox.addEventListener("change", () => setFocus(+focusBox.value));
  panel.append(html("div", {}, html("span", {}, "focus"), focusBox));
  function screen() {
    if (document.fullscreenElement) return document.exitFullscreen();
    openPanel(); // closes it
    return host.requestFullscreen();
  }
  panel.append(html("div", {}, button("Full screen", screen), button("Keys", openKeys)));

  // -- wiring ----------------------------------------------------------------------------------------------------------

  const ended = new AbortController();
  const listen = (node, name, act) => node.addEventListener(name, act, { signal: ended.signal });
  keepToItself(host, listen);
  listen(host, "keydown", onKey);
  stages.forEach((stage, i) => {
    listen(stage.root, "pointermove", (event) => hover(i, event));
    listen(stage.root, "pointerleave", () => (tip.hidden = true));
    listen(stage.root, "click", (event) => click(i, event));
  });
  listen(details, "toggle", () => details.open && fillTable());
  listen(document, "fullscreenchange", fill);

  // On a full screen the whole player grows until it meets an edge.
  function fill() {
    frame.style.zoom = "";
    if (document.fullscreenElement !== host) return;
    const zoom = Math.min(innerWidth / frame.offsetWidth, innerHeight / frame.offsetHeight);
    frame.style.zoom = clamp(zoom, 1, 3);
  }

  let width = 0;
  function fit() {
    watchTheme();
    const room = Math.min(856, Math.floor(scenery.clientWidth));
    if (!room || room === width) return;
    width = room;
    scrubber.resize(scenery.clientWidth);
    frame.classList.toggle("narrow", room < 560);
    stages.forEach((stage) => stage.resize(runs.length > 1 && room >= 640 ? (room - 24) / 2 : room));
    paint();
    tell();
  }

  // The observer goes when the output does, and comes back with it (a notebook may take outputs out of the page).
  const theme = new MutationObserver(() => (host.isConnected ? recolour() : theme.disconnect()));
  function watchTheme() {
    theme.disconnect();
    theme.observe(document.body, { attributes: true, attributeFilter: ["data-jp-theme-light", "class"] });
    recolour();
  }
  function recolour() {
    frame.classList.toggle("dark", isDark());
    host.style.colorScheme = isDark() ? "dark" : "light";
  }
  listen(matchMedia("(prefers-color-scheme: dark)"), "change", recolour);

  host.dataset.steps = stops.length - 1;
  focusBox.value = state.focus;
  showPressed();
  const size = new ResizeObserver(fit);
  size.observe(scenery);
  fit();

  function leave() {
    cancelAnimationFrame(pending);
    ended.abort();
    theme.disconnect();
    size.disconnect();
  }
  return { go: (s) => go(s, { jump: true }), focus: setFocus, on: (listener) => listeners.push(listener), leave };
}
