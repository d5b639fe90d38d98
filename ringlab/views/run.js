// The recorded run, unpacked, and its scenes: what is held and what is under way at one moment.
//
// Nothing here knows a schedule. A run is a list of messages and of what they changed on their receivers.

// "0-2,5x2" -> ranks 0, 1, 2 once and rank 5 twice.
function readTerms(text, P) {
  const counts = new Array(P).fill(0);
  for (const part of text ? text.split(",") : []) {
    const [, from, to, times] = part.match(/^(\d+)(?:-(\d+))?(?:x(\d+))?$/);
    for (let r = +from; r <= +(to ?? from); r++) counts[r] = +(times ?? 1);
  }
  const ranks = counts.flatMap((n, r) => (n ? [r] : []));
  const most = Math.max(0, ...counts);
  return { text, counts, ranks, most, complete: ranks.length === P && most === 1 };
}

// How a chunk changed: "=" the message replaced it, "+" the message was added, "~" anything else.
function signOf(before, message, after) {
  if (!message) return "~";
  if (after.text === message.text) return "=";
  return after.counts.every((n, r) => n === before.counts[r] + message.counts[r]) ? "+" : "~";
}

function readMove([src, dst, t, chunks, ids, nbytes, line, landing, times], n, terms) {
  let land = null;
  if (landing) {
    const [at, seq, taker, changes] = landing;
    land = { t: at, seq, line: taker, changes: changes.map(([c, id]) => ({ c, after: terms[id] })) };
  }
  return { n, src, dst, t, chunks, nbytes, line, times, land, terms: ids && ids.map((id) => terms[id]) };
}

function readRun(data) {
  const { P, C, R } = data;
  const terms = data.terms.map((text) => readTerms(text, P));
  const moves = data.moves.map((move, n) => readMove(move, n, terms));
  const rounds = Array.from({ length: R }, () => ({ moves: [], landings: [], edits: [] }));
  for (const m of moves) {
    rounds[m.t].moves.push(m);
    if (m.land) rounds[m.land.t].landings.push(m);
  }
  for (const [t, r, c, id] of data.edits) rounds[t].edits.push([r, c, terms[id]]);
  const run = {
    ...data,
    moves,
    rounds,
    known: data.init != null, // whose gradients the chunks hold
    neighbours: P > 1 && moves.every((m) => m.dst === (m.src + 1) % P),
    decimal: P <= 8 && !!data.values?.every((v, r) => [v].flat().every((x) => x === 10 ** r)),
    timed: moves.length > 0 && moves.every((m) => m.times),
  };
  run.holds = replay(run, run.known ? data.init.map((id) => terms[id]) : []);
  // The round in which copying begins, of a run that first adds and then copies.
  run.turn = /^a+c+v*$/.test(data.phases) ? data.phases.indexOf("c") : -1;
  run.stops = stopsOf(run);
  if (run.timed) {
    run.byLanding = moves.filter((m) => m.land).sort((a, b) => a.times[3] - b.times[3]);
    run.span = Math.max(...moves.flatMap((m) => [m.times[1], m.times[3] ?? 0]));
  }
  return run;
}

// holds[t + 1][r * C + c] is what rank r holds of chunk c after round t; holds[0] is the start.
function replay(run, start) {
  const holds = [start];
  for (const { landings, edits } of run.rounds) {
    const held = holds.at(-1).slice();
    landings.sort((a, b) => a.land.seq - b.land.seq);
    for (const m of landings) {
      for (const change of m.land.changes) {
        const cell = m.dst * run.C + change.c;
        change.before = held[cell];
        change.sign = signOf(held[cell], m.terms?.[m.chunks.indexOf(change.c)], change.after);
        held[cell] = change.after;
      }
    }
    for (const [r, c, after] of edits) held[r * run.C + c] = after;
    holds.push(held);
  }
  return holds;
}

// Where the player can stand: before all, after each round, between adding and copying, and at the end.
function stopsOf(run) {
  const stops = [{ kind: "start", t: -1 }];
  for (let t = 0; t < run.R; t++) {
    if (t === run.turn) stops.push({ kind: "turn", t: t - 1 });
    stops.push({ kind: "round", t });
  }
  return [...stops, { kind: run.failure ? "failed" : "done", t: run.R - 1 }];
}

// The number that stands in chunk c with these terms: the inputs of those ranks, added up.
function valueOf(run, terms, c) {
  if (!run.values || !terms?.ranks.length) return null;
  const inputs = terms.ranks.map((r) => (Array.isArray(run.values[r]) ? run.values[r][c] : run.values[r]));
  if (inputs.includes(null)) return null; // an empty chunk
  if (run.op === "max" || run.op === "min") return Math[run.op](...inputs.map(Number));
  return inputs.reduce((sum, x, i) => sum + terms.counts[terms.ranks[i]] * Number(x), 0);
}

function numberText(x) {
  if (x == null) return "?";
  const size = Math.abs(x);
  if (!Number.isFinite(x) || (Number.isInteger(x) && size < 1e9)) return String(x);
  return size < 1e-3 || size >= 1e6 ? x.toExponential(1).replace("e+", "e") : String(Number(x.toPrecision(4)));
}

// "c2"; of an algorithm that works on half chunks "c2a" and "c2b".
function chunkName(run, c) {
  const pieces = run.C / run.P;
  return pieces > 1 ? `c${Math.floor(c / pieces)}${"abcdefgh"[c % pieces]}` : `c${c}`;
}

// -- scenes ------------------------------------------------------------------------------------------------

// Stop number `s`, at rest or (`flying`) with its messages on their way.
function sceneAtStop(run, s, flying) {
  const { kind, t } = run.stops[s];
  const round = run.rounds[t] ?? { moves: [], landings: [] };
  const done = flying ? t - 1 : t;
  const shown = kind === "round" || kind === "failed";
  return {
    held: run.holds[done + 1],
    moves: shown ? round.moves : [],
    flights: flying ? round.moves.map((move) => ({ move, u: 0 })) : [],
    changed: shown && !flying ? round.landings.flatMap((m) => m.land.changes.map((x) => ({ r: m.dst, ...x }))) : [],
    cards: cardsOf(run, landingsUpTo(run, done), flying ? round.landings : []),
    queued: run.moves.reduce((all, m) => {
      if (m.t <= done && (m.land ? m.land.t > done : m.t < done)) all[m.dst] = (all[m.dst] ?? 0) + 1;
      return all;
    }, {}),
    failure: kind === "failed" ? run.failure : null,
  };
}

const landingsUpTo = (run, t) => run.rounds.slice(0, t + 1).flatMap((round) => round.landings);

// What each rank shows on its card: the chunk it received last or, before that, the one that it will send first
// (`own`). A rank whose next message is on its way shows what that message is going to change.
function cardsOf(run, landed, coming) {
  const cards = {};
  const show = (m, when) => {
    const { changes } = m.land;
    if (changes.length) cards[m.dst] = { chunks: changes.map((x) => x.c), terms: changes.map((x) => x[when]) };
  };
  for (const m of run.moves) cards[m.src] ??= { own: true, chunks: m.chunks, terms: m.terms ?? [] };
  for (const m of landed) show(m, "after");
  for (const m of coming) show(m, "before");
  return cards;
}

// The moment `now`, in microseconds of the recorded run. A message leaves when its send begins; when the receiver
// asks for it only later, it queues before the receiver from the end of the send until the receive ends.
function sceneAtTime(run, now) {
  const held = run.holds[0].slice();
  const landed = run.byLanding.filter((m) => m.times[3] <= now);
  const rounds = new Array(run.P).fill(0); // the round that each rank is in
  for (const m of landed) {
    rounds[m.dst] = Math.max(rounds[m.dst], m.land.t + 1);
    for (const x of m.land.changes) held[m.dst * run.C + x.c] = x.after;
  }
  const flights = [];
  const queued = {};
  for (const m of run.moves) {
    const [sent, left, asked, got] = m.times;
    if (sent > now || (got != null && got <= now)) continue;
    const arrives = asked != null && asked <= left ? got : left;
    if (now < arrives) {
      flights.push({ move: m, u: (now - sent) / Math.max(1, arrives - sent) });
    } else {
      queued[m.dst] = (queued[m.dst] ?? 0) + 1;
      flights.push({ move: m, u: 0.62 - 0.045 * Math.min(6, queued[m.dst]), waits: true });
    }
  }
  const cards = cardsOf(run, landed, []);
  return { held, flights, queued, rounds, cards, moves: flights.map((x) => x.move), changed: [], failure: null };
}
