// The player: stage, one sentence, scrubber and controls; everything else behind More.
//
// mountRing(host, data, options) shows a recorded run in `host`. options: ask (a rank), beside (data of a second
// run), focus (a rank). It gives back { go(stop), focus(rank), on(listener), leave() }.

const FLIGHT = 560; // milliseconds that a message is on its way
const ROUND = 700; // of a whole round, at speed 1
const WIDEST = 856; // pixels of the stage

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
    lead: "", // what stands before the sentence: the reply to an answer
    told: false, // an explanation stands in the place of the sentence
    speed: 1,
    focus: quiz ? quiz.rank : clamp(options.focus ?? 1, 0, run.P - 1),
    asValue: false,
    byTime: false,
    now: 0, // microseconds, in real time
    cursor: null, // [rank, chunk] that is looked at
    roving: false, // the arrow keys move the cursor
    path: null, // ranks that the chunk came by
  };
  const stages = runs.map(makeStage);
  const parts = makeFrame(host, runs, stages, { step, toggle, seek });
  const player = {
    ...{ state, run, runs, stages, parts, quiz, last, asking, stopIn, sceneOf, paint, refresh, say, explain, settle },
    ...{ step, toggle, jumpTo, jumpToPhase, choose, setFocus, setSpeed, setValues, setClock },
    hasValues: run.known && !!run.values && run.P <= 8,
    hasTimes: run.timed && runs.length === 1,
  };

  // -- where it stands -----------------------------------------------------------------------------------------

  function last() {
    return quiz ? quiz.last() : stops.length - 1;
  }

  function asking() {
    return !!quiz?.open() && state.s === quiz.last() && !state.flying;
  }

  // Number of the stop of one run. With two runs there is one clock of rounds; the shorter run waits at its end.
  function numberIn(one) {
    if (runs.length === 1) return state.s;
    const { kind, t } = stops[state.s];
    const same = one.stops.findIndex((stop) => stop.kind === kind && (kind !== "round" || stop.t === t));
    return same < 0 ? one.stops.length - 1 : same;
  }

  function stopIn(one) {
    return one.stops[numberIn(one)];
  }

  function sceneOf(one) {
    if (state.byTime) return sceneAtTime(one, state.now);
    const scene = sceneAtStop(one, numberIn(one), state.flying && stopIn(one).kind === "round");
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
    const { s: step, playing, focus } = state;
    Object.assign(host.dataset, { step, steps: stops.length - 1, playing, focus });
  }

  function refresh(aloud) {
    paint();
    tell(aloud);
  }

  // -- what it says ----------------------------------------------------------------------------------------------

  function sentence(aloud) {
    const of = (one) => narrate(one, numberIn(one), state.focus, aloud);
    return runs.length === 1 ? of(run) : runs.map((one) => `${one.name}: ${of(one)}`).join("\n");
  }

  function lines(aloud) {
    if (state.byTime) return [narrateTime(run, state.now)];
    if (asking()) return [state.lead || (state.s ? sentence(aloud) : `You are rank ${quiz.rank}.`), quiz.question()];
    const words = [`${state.lead} ${sentence(aloud)}`.trim()];
    if (quiz?.open() && !state.catchingUp) words.push(quiz.ahead());
    if (quiz && !quiz.open() && state.s === last()) words.push(quiz.score());
    return words;
  }

  function write(texts, strong) {
    const each = texts.flatMap((text) => text.split("\n"));
    parts.say.replaceChildren(...each.map((text, i) => html(strong && i ? "strong" : "span", {}, text)));
  }

  // For screen readers only.
  function say(texts) {
    parts.live.textContent = texts.join(" ");
  }

  // All but the picture. `aloud`: a step by hand, so a screen reader hears it.
  function tell(aloud) {
    const words = lines(false);
    state.told = false;
    write(words, !!quiz);
    if (aloud) say(lines(true));
    showSource();
    showControls();
    const label = `${parts.where.textContent}. ${words.join(" ")}`;
    stages.forEach((stage, i) => stage.root.setAttribute("aria-label", `${runs[i].name}: ${label}`));
    if (parts.details.open) fillTable();
    listeners.forEach((listener) => listener(state));
  }

  // What was asked for with a click or Enter stands in the place of the sentence until the next step.
  function explain(texts) {
    write(texts);
    say(texts);
    state.told = true;
  }

  function showSource() {
    const { code } = parts;
    code.hidden = runs.length > 1 || !run.source || !!quiz?.open() || run.moves.every((m) => !m.line);
    if (code.hidden) return;
    const { kind, t } = stops[state.s];
    const row = ({ no, text, filled }) =>
      html("span", {}, `line ${no}  `, html("strong", {}, filled), filled === text ? "" : `   ${text}`);
    const found = kind === "round" && !state.byTime ? sourceOfRound(run, t, state.focus) : [];
    code.replaceChildren(...found.map(row));
  }

  function showControls() {
    const { back, play, forward, where, scrubber } = parts;
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
    play.textContent = state.playing ? "❚❚ Pause" : forward.disabled && !play.disabled ? "↻ Again" : "▶\uFE0E Play";
  }

  function fillTable() {
    const rounds = quiz?.open() ? stops[last()].t + 1 : Infinity; // the future stays locked
    if (parts.table.dataset.rounds === `${rounds}`) return;
    parts.table.dataset.rounds = rounds;
    parts.table.replaceChildren(...runs.map((one) => tableOf(one, rounds)));
  }

  // -- motion ------------------------------------------------------------------------------------------------------

  let pending = 0; // the animation frame that was asked for
  let before = 0; // when the last one came
  let elapsed = 0; // milliseconds at this stop, at speed 1

  function go(s, { jump = false, aloud = false, lead = "" } = {}) {
    const to = clamp(s, 0, last());
    const flying = !jump && !calm.matches && stops[to].kind === "round";
    Object.assign(state, { s: to, flying, lead });
    pointing.forget();
    elapsed = flying ? 0 : FLIGHT;
    refresh(aloud);
    if (flying || state.playing || state.catchingUp) animate();
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

  // Real time goes by as slowly as the rounds do.
  function tickTime(dt) {
    state.now = Math.min(run.span, state.now + (dt * run.span) / (ROUND * run.R));
    if (state.now >= run.span) state.playing = false;
    refresh();
    if (state.playing) pending = requestAnimationFrame(tick);
  }

  function land() {
    state.flying = false;
    if (!quiz || state.s < last()) return paint();
    Object.assign(state, { catchingUp: false, lead: "" });
    refresh(true);
  }

  // A move under way is finished at once; after an answer, so is the way to the next question.
  function settle() {
    cancelAnimationFrame(pending);
    if (state.flying) land();
    if (!state.catchingUp) return;
    state.catchingUp = false;
    go(last(), { jump: true, aloud: true });
  }

  function stop() {
    const aloud = state.catchingUp;
    state.playing = state.catchingUp = false;
    refresh(aloud);
    if (state.flying) animate();
  }

  function toggle() {
    if (state.playing) return stop();
    if (parts.play.disabled || parts.play.hidden) return;
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

  // To the next change of phase, then to the end, then to the start again.
  function jumpToPhase() {
    const changes = ({ kind, t }) => kind === "round" && t > 0 && longest.phases[t] !== longest.phases[t - 1];
    const turns = stops.flatMap((stop, i) => (stop.kind === "turn" || (run.turn < 0 && changes(stop)) ? [i] : []));
    jumpTo([...turns, last()].find((i) => i > state.s && i <= last()) ?? 0);
  }

  function seek(u) {
    state.playing = false;
    if (state.byTime) return setTime(u * run.span);
    settle();
    go(Math.round(u * (stops.length - 1)), { jump: true, aloud: true });
  }

  function setTime(now) {
    state.now = clamp(now, 0, run.span);
    refresh(true);
  }

  // In real time a step goes to the next (or last) arrival.
  function stepTime(by) {
    const ends = run.byLanding.map((m) => m.times[3]);
    setTime(by > 0 ? (ends.find((x) => x > state.now) ?? run.span) : (ends.findLast((x) => x < state.now) ?? 0));
  }

  // -- choices -------------------------------------------------------------------------------------------------------

  function choose(r, c) {
    const elsewhere = { text: `You are rank ${quiz.rank}: choose in your own column.` };
    const verdict = r === quiz.rank ? quiz.choose(c) : elsewhere;
    host.dataset.right = !!verdict.right;
    if (verdict.right) {
      state.catchingUp = true;
      return go(state.s + 1, { aloud: true, lead: verdict.text });
    }
    state.lead = verdict.text;
    state.cursor = verdict.reveal == null ? null : [quiz.rank, verdict.reveal];
    refresh(true);
  }

  function setFocus(r) {
    state.focus = clamp(r, 0, run.P - 1);
    showChosen();
    refresh();
  }

  function setSpeed(speed) {
    state.speed = speed;
    showChosen();
  }

  function setValues(on) {
    state.asValue = on && player.hasValues;
    showChosen();
    paint();
  }

  function setClock(byTime) {
    if (!player.hasTimes) return explain(["No times here: rl.show(run, times=True) has them."]);
    if (quiz?.open()) return;
    settle();
    Object.assign(state, { byTime, playing: false, now: 0 });
    pointing.forget();
    showChosen();
    refresh(true);
  }

  // -- on the page -----------------------------------------------------------------------------------------------------

  const ended = new AbortController();
  const listen = (node, name, act, capture) => node.addEventListener(name, act, { capture, signal: ended.signal });
  const pointing = makePointing(player);
  const showChosen = fillPanel(host, player);
  const theme = makeTheme(host, parts.frame, listen);
  keepToItself(host, listen);
  listen(host, "keydown", makeKeys(host, player, pointing));
  stages.forEach((stage, i) => {
    listen(stage.root, "pointermove", (event) => pointing.hover(i, event));
    listen(stage.root, "pointerleave", () => (parts.tip.hidden = true));
    listen(stage.root, "click", (event) => pointing.click(i, event));
  });
  listen(parts.details, "toggle", () => parts.details.open && fillTable());
  listen(document, "fullscreenchange", () => fillScreen(host, parts.frame));

  let width = 0;
  function fit() {
    theme.watch();
    const room = Math.min(WIDEST, Math.floor(parts.scenery.clientWidth));
    if (!room || room === width) return; // not on the page, or as before
    width = room;
    parts.scrubber.resize(room);
    parts.frame.classList.toggle("narrow", room < 560);
    stages.forEach((stage) => stage.resize(runs.length > 1 && room >= 640 ? (room - 24) / 2 : room));
    refresh();
  }
  const size = new ResizeObserver(fit);
  size.observe(parts.scenery);
  showChosen();
  fit();

  function leave() {
    cancelAnimationFrame(pending);
    ended.abort();
    theme.leave();
    size.disconnect();
  }
  return { go: (s) => go(s, { jump: true }), focus: setFocus, on: (listener) => listeners.push(listener), leave };
}
