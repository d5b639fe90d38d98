// The stage: draws scenes of one run, ring at the left and matrix at the right, and says what lies under a pointer.

const STILL_ALIVE = ["WRONG_RESULT", "UNREAD", "DEADLOCK"]; // nobody died: something came out wrong, or waits
const SHORT_FATES = { KILLED: "died", EXITED: "left", EXCEPTION: "error", STALL: "stopped" };
const WRONG = "goes wrong";
const LAYERS = ["band", "names", "cells", "links", "path", "arrows", "cards", "pills", "parcels", "cursor"];

// draw(scene, view) with view: focus, asValue, cursor ([rank, chunk] or null), path (ranks or null), ask (the rank
// whose cells can be chosen, or null). Only what differs from the last drawing is made anew.
function makeStage(run) {
  const root = svg("svg", { class: "stage", role: "img" });
  const layers = {};
  let plan, shown, arrows, parcels;

  function resize(width) {
    plan = planStage(run, width);
    const height = Math.ceil(plan.height);
    root.setAttribute("viewBox", `0 0 ${plan.width} ${height}`);
    root.style.aspectRatio = `${plan.width} / ${height}`;
    for (const name of LAYERS) layers[name] = svg("g", { class: name });
    root.replaceChildren(...LAYERS.map((name) => layers[name]));
    shown = {};
    arrows = {};
    if (plan.kind !== "none") drawNames();
    if (!plan.alone && run.neighbours)
      layers.links.append(
        ...allRanks().map((r) => svg("path", { class: "link", d: arrow(r, (r + 1) % run.P).line })),
      );
  }

  const allRanks = () => Array.from({ length: run.P }, (_, r) => r);
  const arrow = (src, dst) => (arrows[src * run.P + dst] ??= arrowOf(run, plan, src, dst) ?? {});

  // Whether `what` looks different from the last time; its look is a text.
  function changed(what, look) {
    if (shown[what] === look) return false;
    shown[what] = look;
    return true;
  }

  function draw(scene, view) {
    if (!plan) return; // not on a page yet, so without a size
    if (plan.kind === "bars" && shown.held !== scene.held)
      layers.cells.replaceChildren(...barGlyphs(run, plan, (shown.held = scene.held)));
    else if (plan.kind === "slots" || plan.kind === "counts") drawCells(scene, view);
    if (plan.kind !== "none" && changed("band", `${view.focus}`)) drawBand(view.focus);
    if (!plan.alone) {
      drawCards(scene, view);
      drawArrows(scene, view);
      if (changed("path", `${view.path}`)) drawPath(view.path ?? []);
    }
    const flying = scene.flights.map((x) => `${x.move.n}${x.waits ? "w" : ""}`);
    if (changed("parcels", [flying, view.focus, view.asValue].join("|"))) {
      parcels = scene.flights.map(({ move, waits }) => makeParcel(move, view, waits));
      layers.parcels.replaceChildren(...parcels.flatMap((parcel) => parcel.nodes));
    }
    fly(scene.flights.map((x) => x.u));
    if (changed("cursor", `${view.cursor}`)) drawCursor(view.cursor);
  }

  // Move the parcels of the scene that was drawn last: one number of 0..1 for all, or one for each.
  function fly(u) {
    parcels.forEach((parcel, i) => parcel.at(smooth(Array.isArray(u) ? u[i] : u)));
  }

  function drawNames() {
    const { col, x0, y0, pitch, kind } = plan;
    const [everyRank, everyChunk] = kind === "bars" ? [Math.ceil(26 / col), Math.ceil(18 / pitch)] : [1, 1];
    for (let r = 0; r < run.P + plan.ghost; r += everyRank) {
      const rank = r % run.P;
      const cls = r === run.P ? "name ghost" : "name";
      const words = col >= 48 ? `rank ${rank}` : rank;
      layers.names.append(label(cls, plan.colX(r) + col / 2, y0 - 9, words, { "data-hit": `rank ${rank}` }));
    }
    for (let c = 0; c < run.C; c += everyChunk)
      layers.names.append(label("name row", x0 - 8, plan.rowY(c) + pitch / 2 + 4, chunkName(run, c)));
    if (col < 48) layers.names.append(label("name row", x0 - 5, y0 - 9, "rank"));
    if (plan.ghost)
      layers.names.append(svg("path", { class: "edge", d: `M${plan.colX(run.P)} ${y0 - 20}V${plan.rowY(run.C)}` }));
  }

  function drawBand(focus) {
    const height = run.C * plan.pitch + 28;
    const box = { x: plan.colX(focus), y: plan.y0 - 26, width: plan.col, height, rx: 6 };
    layers.band.replaceChildren(svg("rect", { class: "focusband", ...box }));
    for (const name of layers.names.children)
      name.classList.toggle("focus", name.dataset.hit === `rank ${focus}` && !name.classList.contains("ghost"));
  }

  function drawCells(scene, view) {
    const looks = {};
    for (const { r, c, sign } of scene.changed)
      looks[r * run.C + c] = { changed: true, sign: r === view.focus ? sign : null };
    if (scene.failure?.chunk != null) {
      const at = scene.failure.rank * run.C + scene.failure.chunk;
      looks[at] = { ...looks[at], wrong: true };
    }
    if (!scene.failure && !scene.rounds)
      for (const { src, chunks } of scene.moves)
        if (src === view.focus)
          for (const c of chunks) looks[src * run.C + c] = { ...looks[src * run.C + c], sends: true };
    for (let r = 0; r < run.P + plan.ghost; r++) {
      for (let c = 0; c < run.C; c++) {
        const ghost = r === run.P;
        const terms = scene.held[(r % run.P) * run.C + c];
        const look = { asValue: view.asValue, ...looks[(r % run.P) * run.C + c] };
        const choice = view.ask === r;
        const id = r * run.C + c;
        const words = [terms.text, look.asValue, look.changed, look.sign, look.sends, look.wrong, choice];
        if (!changed(`cell ${id}`, words.join("|"))) continue;
        const node = cellGlyph(run, plan, terms, c, look);
        place(node, ...plan.cellAt(r, c));
        node.dataset.hit = `cell ${r % run.P} ${c}`;
        node.classList.toggle("ghost", ghost);
        if (look.wrong) node.classList.add("wrong");
        node.classList.toggle("choice", choice);
        if (choice)
          element(node, { role: "button", tabindex: 0, "aria-label": cellWords(run, scene.held, r, c) }, []);
        const old = layers.cells.childNodes[id];
        if (old) old.replaceWith(node);
        else layers.cells.append(node);
      }
    }
  }

  // -- the ring ----------------------------------------------------------------------------------------------

  function drawCards(scene, view) {
    for (const r of allRanks()) {
      const card = scene.cards[r];
      const dead = scene.failure?.rank === r && !STILL_ALIVE.includes(scene.failure.verdict);
      const note = noteOf(scene, r, dead);
      const face = plan.face && card ? [...card.chunks, ...card.terms.map((x) => x?.text)] : [];
      if (!changed(`card ${r}`, [r === view.focus, view.asValue, note, dead, ...face].join("|"))) continue;
      const node = cardGlyph(r, card, note, dead, view);
      const [x, y] = plan.place(r);
      place(node, x - plan.card.w / 2, y - plan.card.h / 2);
      const old = layers.cards.childNodes[r];
      if (old) old.replaceWith(node);
      else layers.cards.append(node);
    }
  }

  function noteOf({ failure, rounds, queued }, r, dead) {
    if (dead) return SHORT_FATES[failure.verdict] ?? "failed";
    if (failure?.waiting.some(([who]) => who === r)) return "waits";
    if (failure?.rank === r) return WRONG;
    if (rounds) return rounds[r] < run.R ? `round ${rounds[r]}` : "done";
    return queued[r] ? `${queued[r]} queued` : null;
  }

  function cardGlyph(r, card, note, dead, view) {
    const { w, h } = plan.card;
    const node = svg("g", {
      class: classes("card", { focus: r === view.focus, dead, off: note === WRONG }),
      "data-hit": `rank ${r}`,
    });
    node.append(svg("rect", { class: "box", width: w, height: h, rx: plan.face ? 6 : 13 }));
    if (plan.face) {
      node.append(label("title", 6, 14, plan.terse ? r : `rank ${r}`));
      if (card) node.append(faceGlyph(card.chunks, card.terms, view));
    } else {
      node.append(label("title middle", w / 2, h / 2 + 4, w > 48 ? `rank ${r}` : r));
    }
    // Notes stand on the inner side of the ring, where there is room.
    const above = !plan.stacked && plan.place(r)[1] > plan.cy + 4;
    if (note) node.append(label("note", w / 2, above ? -6 : h + 13, note));
    if (dead) node.append(svg("path", { class: "cross", d: `M5 5L${w - 5} ${h - 5}M${w - 5} 5L5 ${h - 5}` }));
    return node;
  }

  // The name of a chunk and its slots, in the place that a card keeps for them.
  function faceGlyph(chunks, terms, view) {
    const face = svg("g", {}, label("chunk", plan.card.w - 6, 14, shortName(chunks)));
    if (terms.length && terms.every((x) => x && x.text === terms[0].text)) {
      const slots = chunkGlyph(run, plan.face, terms[0], chunks[0], view.asValue);
      place(slots, (plan.card.w - plan.face.boxW) / 2, 18);
      face.append(slots);
    }
    return face;
  }

  function shortName(chunks, nbytes) {
    const [first, last] = [chunks[0], chunks.at(-1)].map((c) => chunkName(run, c));
    const more = chunks.length - 1;
    if (more < 0) return `${nbytes ?? "?"} B`;
    if (!more) return first;
    if (more + 1 === run.C) return "all";
    return chunks.at(-1) - chunks[0] === more ? `${first}–${last.slice(1)}` : `${first} +${more}`;
  }

  function drawArrows(scene, view) {
    const look = [view.focus, scene.flights.length > 0, !!scene.failure, ...scene.moves.map((m) => m.n)];
    if (!changed("arrows", look.join("|"))) return;
    const lines = [];
    const names = [];
    const strongLast = scene.moves.slice().sort((a, b) => (a.src === view.focus) - (b.src === view.focus));
    for (const m of strongLast) {
      const { line, head, middle } = arrow(m.src, m.dst);
      if (!line) continue;
      const look = { strong: m.src === view.focus, lost: scene.failure && !m.land };
      lines.push(svg("path", { class: classes("arrow", look), d: line }));
      lines.push(svg("path", { class: classes("head", look), d: head }));
      if (scene.flights.length || (run.P > 8 && !look.strong)) continue;
      const name = shortName(m.chunks, m.nbytes);
      names.push(pillGlyph(classes("pill", look), name, nameOfArrow(run, plan, middle), `move ${m.n}`));
    }
    for (const [who, peer] of scene.failure?.waiting ?? []) {
      const { line } = arrow(peer, who);
      if (line) lines.push(svg("path", { class: "missing", d: line }));
    }
    layers.arrows.replaceChildren(...lines);
    layers.pills.replaceChildren(...names);
  }

  function drawPath(path) {
    const ways = path.slice(1).map((rank, i) => arrow(path[i], rank));
    const paths = (key, cls) => ways.filter((way) => way[key]).map((way) => svg("path", { class: cls, d: way[key] }));
    layers.path.replaceChildren(...paths("line", "way"), ...paths("head", "wayhead"));
  }

  // -- what moves ----------------------------------------------------------------------------------------------

  // A message under way: a parcel on the ring and, linked, its chunks in the matrix. at(u) moves both. One that
  // `waits` for its receiver is small, since it stands before that one's card.
  function makeParcel(m, view, waits) {
    const strong = m.src === view.focus;
    const pale = !strong && m.dst !== view.focus;
    const parts = [];
    if (!plan.alone) parts.push(ringParcel(m, classes("parcel", { strong, pale }), view, waits));
    if (!waits && m.terms && (plan.kind === "slots" || plan.kind === "counts"))
      parts.push(...m.chunks.map((c, i) => matrixParcel(m, c, m.terms[i], { strong, pale }, view)));
    return { nodes: parts.map((part) => part.node), at: (u) => parts.forEach((part) => part.at(u)) };
  }

  function ringParcel(m, cls, view, small) {
    const way = wayOf(run, plan, m.src, m.dst);
    if (!plan.face || small) {
      const node = pillGlyph(cls, shortName(m.chunks, m.nbytes), [0, 0]);
      return { node, at: (u) => place(node, ...way(u)) };
    }
    const { w, h } = plan.card;
    const box = svg("rect", { class: "box", x: 2, y: 2, width: w - 4, height: h - 4, rx: 5 });
    const node = svg("g", { class: cls }, box, faceGlyph(m.chunks, m.terms ?? [], view));
    const at = (u) => {
      const [x, y] = way(u);
      place(node, x - w / 2, y - h / 2);
    };
    return { node, at };
  }

  function matrixParcel(m, c, terms, look, view) {
    const change = m.land?.changes.find((x) => x.c === c);
    const sign = look.pale ? null : change?.sign;
    const node = cellGlyph(run, plan, terms, c, { asValue: view.asValue, sign, bare: true });
    node.setAttribute("class", `${node.getAttribute("class")} ${classes("parcel", look)}`);
    const to = plan.ghost && m.dst === 0 && m.src === run.P - 1 ? run.P : m.dst;
    const [from, y] = plan.cellAt(m.src, c);
    const [until] = plan.cellAt(to, c);
    // Over its target an added chunk turns to glass, so that its slots join those below.
    const glass = change?.sign === "+" ? [node.firstChild, ...node.querySelectorAll(".hollow")] : [];
    const at = (u) => {
      place(node, mix(from, until, u), y);
      for (const part of glass) part.style.opacity = u > 0.8 ? (1 - u) * 5 : 1;
    };
    return { node, at };
  }

  function drawCursor(cursor) {
    layers.cursor.replaceChildren();
    if (!cursor || plan.kind === "none") return;
    const [x, y] = plan.cellAt(...cursor);
    const { boxW, boxH } = plan.cell;
    layers.cursor.append(
      svg("rect", { class: "frameof", x: x - 4, y: y - 4, width: boxW + 8, height: boxH + 8, rx: 7 }),
    );
  }

  // What lies under a pointer: { kind: "cell", r, c }, { kind: "rank", r }, { kind: "move", n } or null.
  function hit(event) {
    const node = event.target.closest("[data-hit]");
    if (node) {
      const [kind, a, b] = node.dataset.hit.split(" ");
      return kind === "cell" ? { kind, r: +a, c: +b } : kind === "rank" ? { kind, r: +a } : { kind, n: +a };
    }
    if (plan.kind !== "bars") return null;
    const box = root.getBoundingClientRect();
    const scale = plan.width / box.width;
    const r = Math.floor(((event.clientX - box.left) * scale - plan.x0) / plan.col);
    const c = Math.floor(((event.clientY - box.top) * scale - plan.y0) / plan.pitch);
    return r >= 0 && r < run.P && c >= 0 && c < run.C ? { kind: "cell", r, c } : null;
  }

  return { root, resize, draw, fly, hit };
}
