// The line of source that acts, with the numbers of one rank and one round put in.

// The lines with which `rank` sends and receives in round t: [{ no, text, filled }].
function sourceOfRound(run, t, rank) {
  const { moves, landings } = run.rounds[t];
  const sent = moves.find((m) => m.src === rank);
  const got = landings.find((m) => m.dst === rank);
  const found = [];
  if (sent) {
    const nth = run.moves.filter((m) => m.src === rank && m.line === sent.line && m.t < t).length;
    found.push(sourceLine(run, sent.line, rank, nth, sent.chunks));
  }
  if (got) {
    const earlier = (m) => m.dst === rank && m.land?.line === got.land.line && m.land.seq < got.land.seq;
    const changed = got.land.changes.map((x) => x.c);
    found.push(sourceLine(run, got.land.line, rank, run.moves.filter(earlier).length, changed));
  }
  return found.filter(Boolean);
}

// Line number `no` as written and with numbers in. `nth`: how many earlier messages of this rank came from that
// line, which gives the counter of a loop. Numbers that do not lead to one of the recorded `chunks` are left out.
function sourceLine(run, no, rank, nth, chunks) {
  const lines = run.source ?? [];
  const at = lines.findIndex(([number]) => number === no);
  if (at < 0) return null;
  const text = lines[at][1].trim().replace(/\s+#.*$/, "");
  const { parameters, lengths, loops } = surroundings(lines, at);
  if (parameters.length < 4) return { no, text, filled: text };
  const numbers = { [parameters[1].name]: rank, [`len(${parameters[0].name})`]: run.P };
  for (const { name, of } of lengths) if (of === parameters[0].name) numbers[name] = run.P;
  const sure = putIn(text, numbers);
  for (const { name, given } of parameters.slice(4)) if (/^\d+$/.test(given)) numbers[name] = given;
  if (loops.length === 1 && loops[0]) {
    const ends = loops[0].range.split(",").map((end) => arithmetic(putIn(end, numbers)));
    const [from, to] = ends.length === 1 ? [0, ends[0]] : ends;
    if (ends.length < 3 && to > from) numbers[loops[0].counter] = from + (nth % (to - from));
  }
  const filled = putIn(text, numbers);
  const index = filled.match(/\w+\[([^\]]+)\]/)?.[1];
  const chunk = index && ((arithmetic(index) % run.P) + run.P) % run.P;
  return { no, text, filled: !index || chunks.includes(chunk) ? filled : sure };
}

// Upwards from a line, by indentation: the loops around it, the `p = len(chunks)` before it, the function's head.
function surroundings(lines, at) {
  const loops = [];
  const lengths = [];
  let depth = Infinity;
  for (let i = at; i >= 0; i--) {
    const body = lines[i][1];
    const indent = body.search(/\S/);
    if (indent < 0) continue;
    const [, name, of] = body.match(/^\s*(\w+)\s*=\s*len\((\w+)\)/) ?? [];
    if (name) lengths.push({ name, of });
    if (indent >= depth) continue;
    depth = indent;
    const head = body.match(/^\s*def \w+\((.*)\)/);
    if (head) {
      const parameters = head[1].split(",").map((part) => {
        const [name, given] = part.split("=").map((x) => x.trim());
        return { name, given };
      });
      return { parameters, lengths, loops };
    }
    const [, counter, range] = body.match(/^\s*for (\w+) in range\((.*)\):/) ?? [];
    if (/^\s*(for|while) /.test(body)) loops.push(counter && { counter, range });
  }
  return { parameters: [], lengths, loops };
}

// Names and len(name) replaced by their numbers; attributes, calls and assigned names stay.
function putIn(text, numbers) {
  const names = /len\((\w+)\)|(?<![\w.])([A-Za-z_]\w*)(?![\w(]|\s*=[^=])/g;
  return text.replace(names, (all, counted, name) => numbers[counted ? `len(${counted})` : name] ?? all);
}

// The value of a text of digits and arithmetic; NaN for anything else, which is not even looked at.
function arithmetic(text) {
  if (!/^[\d\s()+\-*%]+$/.test(text)) return NaN;
  try {
    return new Function(`return (${text})`)();
  } catch {
    return NaN;
  }
}
