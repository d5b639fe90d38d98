// Where everything stands: the plan of a stage of a given width, and the ways between ranks. Numbers only.

const clamp = (x, low, high) => Math.min(high, Math.max(low, x));
const mix = (a, b, u) => a + (b - a) * u;
const smooth = (u) => (u < 0.5 ? 4 * u ** 3 : 1 - (-2 * u + 2) ** 3 / 2);

// One chunk's slots in a box about `room` wide: one row of P, or two rows of half of them.
function slotPlan(P, room, widest, tall, low) {
  const perRow = P <= 4 || room >= 11 * P + 6 ? P : Math.ceil(P / 2);
  const rows = Math.ceil(P / perRow);
  const w = clamp(Math.floor((2 * (room - 6)) / perRow) / 2, 7, widest);
  const h = rows > 1 ? low : tall;
  return { perRow, w, h, boxW: w * perRow + 6, boxH: h * rows + 6 };
}

// What a cell of the matrix shows: slots to 8 ranks, their number to 16, a bar to 64; "none" when it is not known.
function kindOf({ known, P }) {
  if (!known) return "none";
  return P <= 8 ? "slots" : P <= 16 ? "counts" : "bars";
}

function cellPlan(kind, P, col) {
  if (kind === "slots") return slotPlan(P, col - (col < 60 ? 3 : 6), 18, 18, 16);
  if (kind === "counts") return { boxW: Math.min(col - 4, 60), boxH: 22 };
  const side = col - (col > 8 ? 2 : 1);
  return { boxW: side, boxH: side };
}

// The matrix right of the ring; on a narrow page above a strip of ranks; beyond 16 ranks alone.
function planStage(run, width) {
  const { P, C } = run;
  const kind = kindOf(run);
  const alone = P > 16 || P < 2;
  const stacked = !alone && width < (P > 6 ? 660 : 560);
  const ringW = alone || stacked ? 0 : Math.round(width * (kind === "none" ? 0.6 : 0.4));
  const ghost = !alone && run.neighbours && (!stacked || P <= 4) ? 1 : 0; // the copy of rank 0 at the right edge
  const x0 = (ringW ? ringW + 14 : 0) + (kind === "bars" ? 40 : 33);
  const col = clamp((width - x0 - 4) / (P + ghost), 4, kind === "bars" ? 16 : 112);
  const cell = cellPlan(kind, P, col);
  const pitch = kind === "bars" ? col : cell.boxH + 10;
  const plan = { kind, alone, stacked, ghost, x0, y0: 30, col, cell, pitch, width };
  const matrixH = kind === "none" ? 0 : plan.y0 + C * pitch + 4;
  plan.height = Math.max(8, matrixH);
  if (stacked) {
    plan.card = { w: Math.min(col - 8, 64), h: 26 };
    plan.stripY = matrixH + 46;
    plan.height = plan.stripY + 56;
  } else if (ringW) {
    planRing(plan, P, ringW, matrixH);
  }
  plan.colX = (r) => x0 + r * col;
  plan.rowY = (c) => plan.y0 + c * pitch;
  plan.cellAt = (r, c) => [plan.colX(r) + (col - cell.boxW) / 2, plan.rowY(c) + (pitch - cell.boxH) / 2];
  plan.place = (r) => (stacked ? [plan.colX(r) + col / 2, plan.stripY] : onRing(plan, (2 * Math.PI * r) / P));
  return plan;
}

function planRing(plan, P, ringW, matrixH) {
  // From five ranks on, the cards of a small ring have room for the number only.
  plan.terse = P > 4 && ringW < 330;
  if (P <= 4) plan.face = slotPlan(P, 72, 16, 16, 14);
  else if (P <= 8) plan.face = slotPlan(P, plan.terse ? 46 : 52, 11, 14, 14);
  const widest = P <= 4 ? 78 : plan.terse ? 50 : 70;
  plan.card = plan.face ? { w: Math.max(plan.face.boxW + 4, widest), h: plan.face.boxH + 22 } : { w: 28, h: 28 };
  plan.rx = (ringW - plan.card.w) / 2 - 1;
  plan.height = Math.max(matrixH, Math.min(ringW, 2 * plan.rx + plan.card.h) + 4);
  plan.ry = Math.min(plan.rx * 1.25, (plan.height - plan.card.h) / 2 - 2);
  plan.y0 += Math.round((plan.height - Math.max(matrixH, 0)) / 2);
  plan.ringW = ringW;
  plan.cx = ringW / 2;
  plan.cy = plan.height / 2;
}

// The point at an angle clockwise from the top.
const onRing = (plan, angle) => [plan.cx + plan.rx * Math.sin(angle), plan.cy - plan.ry * Math.cos(angle)];

// The way of a message, as a function of 0..1: along the ring to the next rank, else a bent line.
function wayOf(run, plan, src, dst) {
  const turn = (2 * Math.PI) / run.P;
  if (!plan.stacked && dst === (src + 1) % run.P) return (u) => onRing(plan, (src + u) * turn);
  const [ax, ay] = plan.place(src);
  const [bx, by] = plan.place(dst);
  let mx = (ax + bx) / 2;
  let my = (ay + by) / 2;
  if (plan.stacked) {
    // In the strip, messages to the right pass above the ranks and messages to the left below them.
    my += (dst > src ? -1 : 1) * clamp(Math.abs(bx - ax) * 0.6, 58, 70);
  } else {
    // A chord bends towards the centre, away from the cards between, and a little to its own right.
    mx = mix(mx, plan.cx, 0.55) - (by - ay) * 0.14;
    my = mix(my, plan.cy, 0.55) + (bx - ax) * 0.14;
  }
  const bend = (a, m, b, u) => (1 - u) ** 2 * a + 2 * u * (1 - u) * m + u * u * b;
  return (u) => [bend(ax, mx, bx, u), bend(ay, my, by, u)];
}

// The part of a way that lies outside both cards, as SVG paths, and the place of its name; null when there is none.
function arrowOf(run, plan, src, dst) {
  const way = wayOf(run, plan, src, dst);
  const { w, h } = plan.card;
  const near = (rank, margin) => {
    const [px, py] = plan.place(rank);
    return ([x, y]) => Math.abs(x - px) < w / 2 + margin && Math.abs(y - py) < h / 2 + margin;
  };
  const [atStart, atEnd] = [near(src, 3), near(dst, 5)];
  const points = Array.from({ length: 61 }, (_, i) => way(i / 60)).filter((p) => !atStart(p) && !atEnd(p));
  if (points.length < 2) return null;
  const write = ([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`;
  const [[tx, ty], [sx, sy]] = [points.at(-1), points.at(-Math.min(4, points.length))];
  const angle = Math.atan2(ty - sy, tx - sx);
  const barb = (turn) => write([tx - 9 * Math.cos(angle + turn), ty - 9 * Math.sin(angle + turn)]);
  return {
    line: `M${points.map(write).join("L")}`,
    head: `M${write([tx, ty])}L${barb(0.45)}L${barb(-0.45)}Z`,
    // Two ranks may send to each other: off the middle, their names do not meet.
    middle: points[Math.floor(points.length * (dst === (src + 1) % run.P ? 0.5 : 0.36))],
  };
}

// Where the name of an arrow stands: on it, or outside a ring whose arrows are so short that it would hide them.
function nameOfArrow(run, plan, [x, y]) {
  if (plan.stacked || run.P <= 4) return [x, y];
  const [dx, dy] = [x - plan.cx, y - plan.cy];
  const far = Math.hypot(dx, dy);
  return far < plan.rx * 0.8 ? [x, y] : [clamp(x + (14 * dx) / far, 16, plan.ringW - 4), y + (14 * dy) / far];
}
