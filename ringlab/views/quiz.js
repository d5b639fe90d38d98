// Asking: the rounds in which a rank sends are questions, and nothing after the first open one can be seen.

function makeQuiz(run, rank) {
  const sends = (t) => run.rounds[t].moves.find((m) => m.src === rank);
  const questions = run.stops
    .map(({ kind, t }, s) => ({ kind, t, s, misses: 0 }))
    .filter(({ kind, t }) => kind === "round" && sends(t));
  let answered = 0;

  const open = () => questions[answered] ?? null;
  // The last stop that may be seen.
  const last = () => (open() ? open().s - 1 : run.stops.length - 1);

  function question() {
    const { t } = open();
    if (answered) return `Round ${t}: which chunk do you send now?`;
    return `Round ${t} of ${run.R}: which chunk do you send? Click it in your column.`;
  }

  const ahead = () => `You are rank ${rank}: you send in round ${open().t}.`;

  // { right, text, reveal }: a miss says where that chunk came from, then how to think, then which one it is.
  function choose(c) {
    const asked = open();
    const m = sends(asked.t);
    const name = chunkText(run, m.chunks);
    if (m.chunks.includes(c)) {
      answered++;
      return { right: true, text: `Right: ${name} goes to rank ${m.dst}.` };
    }
    asked.misses++;
    const helps = ["Try again.", hint(m), `It is ${name}: ${originOf(m.chunks[0], asked.t)}.`];
    const help = Math.min(asked.misses, 3) - 1;
    return {
      right: false,
      text: `Not ${chunkName(run, c)}: ${originOf(c, asked.t)}. ${helps[help]}`,
      reveal: help === 2 ? m.chunks[0] : null,
    };
  }

  function originOf(c, t) {
    const came = lastChange(run, rank, c, t - 1);
    const since = came ? came.land.t : -1;
    const sent = run.moves.find((m) => m.src === rank && m.t > since && m.t < t && m.chunks.includes(c));
    if (sent) return `you sent it to rank ${sent.dst} in round ${sent.t} already`;
    if (came) return `it came from rank ${came.src} in round ${since}`;
    return "nothing has come in for it, it is still your own part only";
  }

  function hint(m) {
    const came = lastChange(run, rank, m.chunks[0], m.t - 1);
    if (came?.land.t === m.t - 1) return "Hint: send on what you just received.";
    return m.chunks[0] === rank
      ? "Hint: begin with the chunk that has your own number."
      : `Hint: it goes to rank ${m.dst}.`;
  }

  const score = () =>
    `You found ${questions.filter((x) => !x.misses).length} of ${questions.length} at the first try.`;
  return { rank, open, last, question, ahead, choose, score };
}
