// Looking closer: what is said about a chunk, a rank or a message under the pointer, or under the cursor of the keys.

function makePointing(player) {
  const { state, run, runs, stages, parts, quiz } = player;
  const { tip, scenery } = parts;

  // { lines, path }. `full`: with the history of a chunk.
  function about(one, found, full) {
    const t = player.stopIn(one).t;
    if (found.kind === "move") return { lines: [moveWords(one, one.moves[found.n])] };
    if (found.kind === "rank") return { lines: rankWords(one, found.r, t) };
    if (full && one.known && !state.byTime)
      return historyWords(one, found.r, found.c, t, quiz?.open() ? t + 1 : one.R);
    return { lines: [cellWords(one, player.sceneOf(one).held, found.r, found.c)] };
  }

  function hover(i, event) {
    const found = event.pointerType === "touch" ? null : stages[i].hit(event);
    tip.hidden = !found;
    if (!found) return;
    tip.replaceChildren(...about(runs[i], found).lines.map((text) => html("p", {}, text)));
    const box = scenery.getBoundingClientRect();
    const point = { left: event.clientX, right: event.clientX, top: event.clientY, bottom: event.clientY };
    const at = event.target.closest("[data-hit]")?.getBoundingClientRect() ?? point;
    const left = (at.left + at.right) / 2 - box.left - tip.offsetWidth / 2;
    const above = at.top - box.top - tip.offsetHeight - 6;
    tip.style.left = `${clamp(left, 0, Math.max(0, box.width - tip.offsetWidth))}px`;
    tip.style.top = `${above < -40 ? at.bottom - box.top + 6 : above}px`;
  }

  function click(i, event) {
    player.settle();
    const found = stages[i].hit(event);
    if (player.asking() && found?.kind === "cell") return player.choose(found.r, found.c);
    const told = state.told;
    forget();
    if (!found) return told ? player.refresh() : player.paint();
    if (found.kind === "rank" && !quiz) player.setFocus(found.r);
    const { lines, path } = about(runs[i], found, true);
    if (i === 0) state.path = path ?? null;
    if (i === 0 && found.kind === "cell") state.cursor = [found.r, found.c];
    player.paint();
    player.explain(lines);
  }

  // Nothing is pointed at any more.
  function forget() {
    tip.hidden = true;
    state.cursor = state.path = null;
    state.roving = false;
  }

  // -- the cursor --

  function placeCursor(r, c) {
    state.cursor = [clamp(r, 0, run.P - 1), clamp(c, 0, run.C - 1)];
    const { lines, path } = about(run, { kind: "cell", r: state.cursor[0], c: state.cursor[1] }, !player.asking());
    state.path = path ?? null;
    player.paint();
    if (player.asking()) player.say(lines);
    else player.explain(lines);
  }

  // Starts at the chunk that the focus rank has just received.
  function startCursor() {
    if (!run.known) return;
    const landings = run.rounds[player.stopIn(run).t]?.landings.filter((m) => m.dst === state.focus) ?? [];
    state.roving = true;
    placeCursor(state.focus, landings.flatMap((m) => m.land.changes)[0]?.c ?? 0);
  }

  return { hover, click, forget, placeCursor, startCursor };
}
