// What is said about a run: the sentence of every stop, the history of a chunk, the table of all rounds.

const PHASES = { a: "adding", c: "copying" };
// 12,640. (toLocaleString takes 20 ms when it is first used.)
const grouped = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
const plural = (n, word) => `${grouped(n)} ${word}${n === 1 ? "" : "s"}`;
const often = (n) => (n === 2 ? "twice" : `${n} times`);
const listed = (items) => [items.slice(0, -1).join(", "), items.at(-1)].filter((x) => x !== "").join(" and ");

// Microseconds, in the unit that suits them.
function micro(us) {
  if (us < 1000) return `${Math.round(us)} µs`;
  return us < 1e6 ? `${(us / 1000).toFixed(us < 1e4 ? 2 : 1)} ms` : `${(us / 1e6).toFixed(2)} s`;
}

function chunkText(run, chunks) {
  if (!chunks.length) return "a message";
  if (chunks.length === run.C && run.C > 1) return "all chunks";
  if (chunks.length === 1) return chunkName(run, chunks[0]);
  const consecutive = chunks.at(-1) - chunks[0] === chunks.length - 1;
  const names = chunks.map((c) => chunkName(run, c));
  return consecutive ? `${names[0]}–${names.at(-1)}` : listed(names);
}

function termsWords(run, terms) {
  const { ranks, counts } = terms;
  if (terms.complete) return "complete";
  if (!ranks.length) return "something else";
  if (terms.most > 1) return listed(ranks.map((r) => `rank ${r}${counts[r] > 1 ? ` ${often(counts[r])}` : ""}`));
  if (run.P > 8 && ranks.length > 2) return `${ranks.length} of ${run.P} ranks`;
  return ranks.length === 1 ? `rank ${ranks[0]} only` : `ranks ${listed(ranks)}`;
}

// "c2 on rank 0: ranks 0, 2, 3; 1 missing"
function cellWords(run, held, r, c) {
  const terms = held[r * run.C + c];
  const name = `${chunkName(run, c)} on rank ${r}`;
  if (!terms) return name;
  if (terms.complete) return `${name}: all ${plural(run.P, "rank")}, complete`;
  if (!terms.ranks.length) return `${name}: something else than sums of the inputs`;
  const there = terms.ranks.map((x) => (terms.counts[x] > 1 ? `${x} ${often(terms.counts[x])}` : x));
  const missing = terms.counts.flatMap((n, x) => (n ? [] : [x]));
  const gone = missing.length > 8 ? `${missing.length}` : missing.join(", ");
  return `${name}: rank${there.length === 1 ? "" : "s"} ${there.join(", ")}; ${gone || "nobody"} missing`;
}

// -- the sentence of a stop --------------------------------------------------------------------------------

// `aloud`: as it is read out, always with the sender.
function narrate(run, s, focus, aloud) {
  const { kind, t } = run.stops[s];
  if (kind === "round") return narrateRound(run, t, focus, aloud);
  if (kind === "turn") return narrateTurn(run, t);
  if (kind === "done") return narrateDone(run, focus);
  if (kind === "failed") return narrateFailure(run);
  return narrateStart(run);
}

function narrateStart(run) {
  if (run.counters) {
    const [rounds, messages, bytes] = run.counters;
    const sent = `${plural(messages, "message")}, ${plural(bytes, "byte")}`;
    return `${plural(run.P, "rank")} are too many to draw: ${plural(rounds, "round")}, ${sent} were counted.`;
  }
  if (run.P === 1) return "One rank: its gradient is the sum already.";
  if (!run.known) return "Whose gradients the messages carry is not known for this run.";
  const value = run.decimal ? ` Rank r holds 10 to the r: ${"1".repeat(run.P)} will mean everybody once.` : "";
  return `Every rank holds only its own gradient, in ${plural(run.C, run.C > run.P ? "half chunk" : "chunk")}.${value}`;
}

function narrateRound(run, t, focus, aloud) {
  const { moves, landings } = run.rounds[t];
  const phase = t > 0 && run.phases[t] === run.phases[t - 1] ? null : PHASES[run.phases[t]];
  const parts = [`Round ${t}${t ? "" : ` of ${run.R}`}${phase ? `, ${phase}` : ""}.`];
  if (run.P > 1 && moves.length === run.P) {
    const own = (m) => m.chunks.length === 1 && m.chunks[0] === m.src;
    const justCame = (m) =>
      run.rounds[t - 1].landings.some((x) => x.dst === m.src && x.chunks.join() === m.chunks.join());
    if (t === 0 && moves.every(own)) parts.push("Every rank sends its own chunk.");
    if (t === 1 && moves.every(justCame)) parts.push("Every rank sends on what it just received.");
  }
  const got = landings.filter((m) => m.dst === focus);
  const sent = moves.filter((m) => m.src === focus);
  if (got.length) parts.push(...got.slice(0, 2).map((m) => narrateLanding(run, m, aloud)));
  else if (sent.length)
    parts.push(`Rank ${focus} sends ${listed(sent.map((m) => `${chunkText(run, m.chunks)} to rank ${m.dst}`))}.`);
  else if (landings.length) parts.push(narrateLanding(run, landings[0], true));
  else parts.push(`Rank ${focus} has nothing to do.`);
  return parts.join(" ");
}

const VERBS = { "+": "adds", "=": "copies", "~": "changes" };

function narrateLanding(run, m, withSender) {
  const { changes } = m.land;
  const from = withSender || !run.neighbours ? ` from rank ${m.src}` : "";
  const gets = `Rank ${m.dst} gets ${chunkText(run, m.chunks)}${from}`;
  if (!run.known) return `${gets}.`;
  if (!changes.length) return `${gets}; nothing changes.`;
  const [{ c, before, after, sign }] = changes;
  if (changes.some((x) => x.sign !== sign || x.after.text !== after.text)) return `${gets}.`;
  const result = termsWords(run, after);
  const message = m.terms?.[m.chunks.indexOf(c)];
  const [old, came, now] = [before, message, after].map((terms) => numberText(valueOf(run, terms, c)));
  // Numbers only when they are few and short enough to be read.
  if (changes.length > 1 || sign === "~" || !run.values || old.length + came.length > 17)
    return `${gets} and ${VERBS[sign]} ${changes.length > 1 ? "them" : "it"}: ${result}.`;
  if (sign === "=") return `${gets}: ${came} replaces ${old}${after.complete ? "" : `, ${result}`}.`;
  const sum = run.op === "max" || run.op === "min" ? `the ${run.op} of ${old} and ${came} is` : `${old} + ${came} =`;
  return `${gets}: ${sum} ${now}, ${result}.`;
}

function narrateTurn(run, t) {
  const held = run.holds[t + 1];
  const owned = new Array(run.P).fill(0); // complete chunks per rank
  held.forEach((terms, i) => (owned[Math.floor(i / run.C)] += terms.complete ? 1 : 0));
  const all = owned.reduce((a, b) => a + b, 0);
  let where = `${all} of ${held.length} chunks are complete`;
  if (owned.every((n) => n === 1)) where = "one complete chunk per rank";
  else if (all === run.C && owned.includes(all)) where = `rank ${owned.indexOf(all)} holds the whole sum`;
  return `Adding is over: ${where}. ${run.neighbours ? "Same sends from here;" : "From here,"} receivers copy.`;
}

function narrateDone(run, focus) {
  if (run.counters) return narrateStart(run);
  if (!run.moves.length) return "Done: nothing had to be sent.";
  const bytes = (moves) => moves.reduce((sum, m) => sum + m.nbytes, 0);
  const mine = bytes(run.moves.filter((m) => m.src === focus));
  const times = run.buffer && numberText(+(mine / run.buffer).toPrecision(3));
  const share = times === "1" ? ", as much as its buffer" : times ? `, ${times} times its buffer` : "";
  const total = `${plural(run.moves.length, "message")}, ${plural(bytes(run.moves), "byte")}`;
  return `Done: ${total}; rank ${focus} sent ${grouped(mine)}${share}.${run.known ? outcome(run) : ""}`;
}

// What is wrong or unfinished at the end, in words; empty when every chunk is complete everywhere.
function outcome(run) {
  const held = run.holds.at(-1);
  const complete = held.filter((terms) => terms.complete).length;
  const [{ most }] = held;
  if (most > 1 && held.every((terms) => terms.counts.every((n) => n === most)))
    return ` Every gradient was counted ${often(most)}.`;
  if (held.some((terms) => terms.most > 1)) return " Some gradients were counted more than once.";
  return complete < held.length ? ` ${complete} of ${held.length} chunks are complete.` : "";
}

const FATES = { KILLED: "died", EXITED: "left", STALL: "stopped moving" };

function narrateFailure(run) {
  const { rank, round, verdict, text, waiting } = run.failure;
  const waits = ([who, peer]) => `rank ${who} waits for rank ${peer}`;
  if (verdict === "DEADLOCK" && waiting.length)
    return `Nobody can move: ${waiting.slice(0, 4).map(waits).join(", ")}${waiting.length > 4 ? " and so on" : ""}.`;
  const [reason] = text.split("\n");
  const waiter = rank == null ? null : waiting.find(([, peer]) => peer === rank);
  const what = waiter?.[2] == null ? "a message" : chunkName(run, waiter[2]);
  const whoWaits = waiter && `Rank ${waiter[0]} waits for ${what} from`;
  if (!FATES[verdict] || rank == null) return waiter ? `${reason} ${whoWaits} it.` : reason;
  const fate = FATES[verdict] + (round == null ? "" : ` in round ${round}`);
  return waiter ? `${whoWaits} rank ${rank}, which ${fate}.` : `Rank ${rank} ${fate}.`;
}

function narrateTime(run, now) {
  if (now >= run.span) return `As it happened: over after ${micro(run.span)}.`;
  const { rounds, flights } = sceneAtTime(run, now);
  const [first, slowest] = [Math.max(...rounds), Math.min(...rounds)];
  const behind = `Rank ${rounds.indexOf(slowest)} is ${plural(first - slowest, "round")} behind`;
  const ranks = first > slowest ? `${behind} rank ${rounds.indexOf(first)}.` : "All ranks are in the same round.";
  return `As it happened, after ${micro(now)}: ${plural(flights.length, "message")} under way. ${ranks}`;
}

// -- what is under a pointer ----------------------------------------------------------------------------------

function moveWords(run, m) {
  const clock = m.times ? `, ${micro(m.times[0])} to ${micro(m.times[3] ?? m.times[1])}` : "";
  const what = `${chunkText(run, m.chunks)} from rank ${m.src} to rank ${m.dst}`;
  return `Round ${m.t}: ${what}, ${plural(m.nbytes, "byte")}${clock}.`;
}

// Two lines: what a rank has sent and taken in up to round t.
function rankWords(run, r, t) {
  const bytes = (moves) => moves.reduce((sum, m) => sum + m.nbytes, 0);
  const count = (moves) => `${plural(moves.length, "message")}, ${plural(bytes(moves), "byte")}`;
  const sent = run.moves.filter((m) => m.src === r && m.t <= t);
  const taken = landingsUpTo(run, t).filter((m) => m.dst === r);
  return [`Rank ${r} so far: out ${count(sent)};`, `in ${count(taken)}.`];
}

// -- the history of a chunk ----------------------------------------------------------------------------------

// The last message up to round t that changed chunk c on rank r.
function lastChange(run, r, c, t) {
  const found = landingsUpTo(run, t).filter((m) => m.dst === r && m.land.changes.some((x) => x.c === c));
  return found.at(-1);
}

// How the sum in chunk c of rank r after round t was made, "((2 + 3) + 0)", and the ranks it came by.
function historyOf(run, r, c, t) {
  const made = run.holds[0].slice(0, run.P).map((_, rank) => ({ sum: `${rank}`, path: [rank] }));
  // Per rank, how it came by terms that it has seen: what it sends may be a parcel that it did not keep.
  const known = made.map((own, rank) => ({ [run.holds[0][rank * run.C + c].text]: own }));
  const under = {}; // way of the messages that are on their way
  for (const { moves, landings } of run.rounds.slice(0, t + 1)) {
    const text = (m) => m.terms[m.chunks.indexOf(c)].text;
    for (const m of moves) if (m.chunks.includes(c)) under[m.n] = known[m.src][text(m)];
    for (const m of landings) {
      const came = under[m.n] && { sum: under[m.n].sum, path: [...under[m.n].path, m.dst] };
      if (came) known[m.dst][text(m)] = came;
      for (const { sign, after } of m.land.changes.filter((x) => x.c === c)) {
        const { sum: own } = made[m.dst];
        if (!came || sign === "~") made[m.dst] = { sum: termsWords(run, after), path: [m.dst] };
        else made[m.dst] = sign === "+" ? { sum: `(${came.sum} + ${own})`, path: came.path } : came;
        known[m.dst][after.text] = made[m.dst];
      }
    }
  }
  return made[r];
}

// Two lines about a chunk, and its path on the ring. `until`: later rounds are not told.
function historyWords(run, r, c, t, until) {
  const { sum, path } = historyOf(run, r, c, t);
  const next = run.moves.find((m) => m.src === r && m.t > t && m.t < until && m.chunks.includes(c));
  const later = t < until - 1 ? "It is not sent on from here." : "";
  const used = next ? `Next: sent to rank ${next.dst} in round ${next.t}.` : later;
  const came = path.length > 1 ? `${sum}, by rank ${path.join(" → ")}.` : "Nothing has arrived here yet.";
  return { lines: [cellWords(run, run.holds[t + 1], r, c), `${came} ${used}`.trim()], path };
}

// -- the table: all that the picture shows, as text ------------------------------------------------------------

// "0··3", as in trace.table(): the text twin of a glyph.
function glyphText(run, terms) {
  const times = terms.most > 1 ? `×${terms.most}` : "";
  const slots = terms.counts.map((n, r) => (n ? r : "·")).join("");
  return `${run.P > 8 ? `${terms.ranks.length} of ${run.P}` : slots}${times}${terms.complete ? "*" : ""}`;
}

function partsText(run, chunks, terms) {
  if (!terms?.length) return chunkText(run, chunks);
  if (terms.every((x) => x.text === terms[0].text)) return `${chunkText(run, chunks)} ${glyphText(run, terms[0])}`;
  return chunks.map((c, i) => `${chunkName(run, c)} ${glyphText(run, terms[i])}`).join(", ");
}

const heldText = (run, changes) =>
  partsText(
    run,
    changes.map((x) => x.c),
    changes.map((x) => x.after),
  );

// `known`: how many rounds are shown.
function tableOf(run, known) {
  const ranks = Array.from({ length: run.P }, (_, r) => r);
  const lines = (round, r) => [
    ...round.moves.filter((m) => m.src === r).map((m) => `sends ${partsText(run, m.chunks, m.terms)} to ${m.dst}`),
    ...round.landings
      .filter((m) => m.dst === r)
      .flatMap(({ chunks, terms, land: { changes } }) => [
        `gets ${partsText(run, chunks, terms)}`,
        ...(changes.length ? [`holds ${heldText(run, changes)}`] : []),
      ]),
  ];
  const head = ["round", ...ranks.map((r) => `rank ${r}`)].map((words) => html("th", { scope: "col" }, words));
  const rows = run.rounds.slice(0, known).map((round, t) => {
    const phase = PHASES[run.phases[t]];
    const cells = ranks.map((r) => html("td", {}, lines(round, r).join("\n")));
    return html("tr", {}, html("th", { scope: "row" }, `${t}${phase ? `, ${phase}` : ""}`), ...cells);
  });
  return html("table", {}, html("thead", {}, html("tr", {}, ...head)), html("tbody", {}, ...rows));
}
