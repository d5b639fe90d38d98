// Chunks, cells and marks as SVG. Texts become text nodes only, never markup.

function element(node, attributes, kids) {
  for (const [key, value] of Object.entries(attributes)) if (value != null) node.setAttribute(key, value);
  node.append(...kids.filter((kid) => kid != null));
  return node;
}
const SVG = "http://www.w3.org/2000/svg";
const svg = (tag, attributes, ...kids) => element(document.createElementNS(SVG, tag), attributes, kids);
const html = (tag, attributes, ...kids) => element(document.createElement(tag), attributes, kids);
const place = (node, x, y) => node.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
const label = (cls, x, y, words, more) => svg("text", { class: cls, x, y, ...more }, words);

// "cell", { complete: true, wrong: false } -> "cell complete"
const classes = (first, rest) => [first, ...Object.keys(rest).filter((name) => rest[name])].join(" ");

// A chunk: one fixed slot per rank, with that rank's colour and digit when its gradient is in. As values, the slots
// of powers of ten read as the number itself, units at the right; other inputs give a plain number.
function chunkGlyph(run, slots, terms, c, asValue) {
  const group = svg("g", {});
  if (!terms.ranks.length || (asValue && (!run.decimal || terms.most > 9))) {
    group.append(label("number", slots.boxW / 2, slots.boxH / 2 + 4, numberText(valueOf(run, terms, c))));
    return group;
  }
  const rows = []; // of digits: one text each, with a place for every digit
  let hollow = "";
  let wrong = "";
  for (let i = 0; i < run.P; i++) {
    const rank = asValue ? run.P - 1 - i : i;
    const count = terms.counts[rank];
    const row = Math.floor(i / slots.perRow);
    const x = 3 + (i % slots.perRow) * slots.w;
    const y = 3 + row * slots.h;
    if (!count) {
      hollow += `M${x + 1.5} ${y + 1.5}h${slots.w - 3}v${slots.h - 3}h${3 - slots.w}z`;
      continue;
    }
    const box = { x: x + 0.5, y: y + 0.5, width: slots.w - 1, height: slots.h - 1 };
    group.append(svg("rect", { class: "slot", ...box, rx: 1.5, fill: `var(--r${rank})` }));
    if (count > 1) wrong += hatch(box);
    rows[row] ??= { xs: [], y: y + slots.h / 2 + 4, digits: "" };
    rows[row].xs.push(x + slots.w / 2);
    rows[row].digits += asValue ? count : rank;
  }
  if (hollow) group.prepend(svg("path", { class: "hollow", d: hollow }));
  if (wrong) group.append(svg("path", { class: "hatch", d: wrong }));
  const cls = wrong && slots.w >= 14 ? "digit halo" : "digit";
  rows.forEach(({ xs, y, digits }) => group.append(label(cls, xs.join(" "), y, digits)));
  return group;
}

// The mark of a term that is in more than once: diagonals, or a foot where a slot is too small for a hatch.
function hatch({ x, y, width: w, height: h }) {
  if (w < 13) return `M${x} ${y + h - 1}h${w}`;
  let path = "";
  for (let d = 5; d < w + h - 5; d += 7)
    path += `M${x + Math.max(0, d - h)} ${y + Math.min(h, d)}L${x + Math.min(w, d)} ${y + Math.max(0, d - w)}`;
  return path;
}

function mark(cls, x, y, path) {
  return svg("g", { class: cls }, svg("circle", { cx: x, cy: y, r: 6.5 }), svg("path", { d: `M${x} ${y}${path}` }));
}
const SIGNS = { "+": "m-3.2 0h6.4m-3.2 -3.2v6.4", "=": "m-3.2 -1.7h6.4m-6.4 3.4h6.4" };

function timesMark(x, y, times) {
  const box = svg("rect", { x: x - 10, y: y - 6.5, width: 20, height: 13, rx: 3 });
  return svg("g", { class: "times" }, box, svg("text", { x, y: y + 4 }, `×${times}`));
}

// One cell of the matrix, at the origin. look: asValue, changed, sends, sign, bare (without its tick).
function cellGlyph(run, plan, terms, c, look) {
  const { boxW, boxH } = plan.cell;
  const { complete, most } = terms;
  const { changed, sends } = look;
  const group = svg("g", { class: classes("cell", { complete, changed, sends, wrong: most > 1 }) });
  group.append(svg("rect", { class: "box", width: boxW, height: boxH, rx: 4 }));
  if (plan.kind === "slots") {
    group.append(chunkGlyph(run, plan.cell, terms, c, look.asValue));
  } else {
    const number = boxW > 50 ? `${terms.ranks.length} of ${run.P}` : terms.ranks.length;
    group.append(label("number", boxW / 2, boxH / 2 + 4, number));
  }
  if (complete && !look.bare) group.append(mark("tick", boxW - 1, 1, "m-3 0l2.2 2.4l3.8 -4.6"));
  if (SIGNS[look.sign]) group.append(mark("sign", 1, boxH - 1, SIGNS[look.sign]));
  if (most > 1) group.append(timesMark(boxW - 8, 0, most));
  return group;
}

// More than 16 ranks: all cells in four paths; the longer a bar, the more ranks are in, full ones have the outline.
function barGlyphs(run, plan, held) {
  const { boxW, boxH } = plan.cell;
  const paths = { outline: "", bar: "", full: "", bad: "" };
  held.forEach((terms, i) => {
    const [x, y] = plan.cellAt(Math.floor(i / run.C), i % run.C);
    const box = (w) => `M${x.toFixed(1)} ${y.toFixed(1)}h${w.toFixed(1)}v${boxH.toFixed(1)}h${(-w).toFixed(1)}z`;
    paths.outline += box(boxW);
    if (terms.most > 1) paths.bad += box(boxW);
    else if (terms.complete) paths.full += box(boxW);
    else paths.bar += box((boxW * terms.ranks.length) / run.P);
  });
  return Object.keys(paths).map((name) => svg("path", { class: `bars ${name}`, d: paths[name] }));
}

// A short name in a capsule, on an arrow or under way.
function pillGlyph(cls, words, [x, y], hit) {
  const w = words.length * 6.6 + 8;
  const box = svg("rect", { x: x - w / 2, y: y - 8.5, width: w, height: 17, rx: 8 });
  return svg("g", { class: cls, "data-hit": hit }, box, svg("text", { x, y: y + 4 }, words));
}
