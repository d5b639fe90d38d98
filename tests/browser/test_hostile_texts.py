"""What learners write (names, lines, questions, errors, prints) is text in every view, whatever it looks like."""

import importlib.resources
import json

import pytest
from playing import opening, traced  # noqa: F401

import ringlab as rl
from ringlab.trace import Trace
from ringlab.views import player
from ringlab.views.encoding import encode
from ringlab.views.widget import text_of, with_hearing
from ringlab.waits import Wait

pytestmark = pytest.mark.browser

SCRIPTS = [
    "<script>hit()</script>",
    "</script><script>hit()</script>",
    "<img src=x onerror=hit()>",
    "<svg onload=hit()>",
    "<svg><script>hit()</script></svg>",
    "<iframe srcdoc='<script>parent.hit()</script>'>",
    "<a href=javascript:hit()>x</a>",
    "<body onload=hit()>",
    "<details open ontoggle=hit()>",
    "<style>@import 'javascript:hit()'</style>",
    "<math><mtext></table></math><img src=x onerror=hit()>",
    "<!--<img src='--><img src=x onerror=hit()>'>",
    "--><script>hit()</script>",
    "]]><script>hit()</script>",
    '"onmouseover="hit()"',
    "'onfocus='hit()' autofocus='",
    "`${hit()}`",
    "${hit()}",
    "{{hit()}}",
    "');hit();('",
    '");hit();("',
    "\\u003cscript\\u003ehit()\\u003c/script\\u003e",
    "&lt;script&gt;hit()&lt;/script&gt;",
    "&#60;script&#62;hit()&#60;/script&#62;",
    "<scr<script>ipt>hit()</scr</script>ipt>",
    "<SCRIPT>hit()</SCRIPT>",
    "<script/src=data:,hit()>",
    "<object data=javascript:hit()>",
    "<embed src=javascript:hit()>",
    "<form><button formaction=javascript:hit()>x</button></form>",
    "<input autofocus onfocus=hit()>",
    "<select autofocus onfocus=hit()>",
    "<video><source onerror=hit()></video>",
    "<audio src=x onerror=hit()>",
    "<marquee onstart=hit()>",
    "<base href=javascript:hit()//>",
    "<link rel=stylesheet href=javascript:hit()>",
    "<meta http-equiv=refresh content='0;url=javascript:hit()'>",
    "<template><script>hit()</script></template>",
    "<noscript><p title='</noscript><img src=x onerror=hit()>'>",
    "<textarea></textarea><script>hit()</script>",
    "<title></title><script>hit()</script>",
    "<xmp></xmp><script>hit()</script>",
    "<foreignObject><img src=x onerror=hit()></foreignObject>",
    "<use href='data:image/svg+xml,<svg onload=hit()>'>",
    "<animate onbegin=hit() attributeName=x dur=1s>",
    "<set onend=hit()>",
    "\u2028hit()\u2029",
    "\x00<script>hit()</script>",
    "javascript:hit()",
    "return hit()",
    "hit()",
]

COUNT_HITS = "() => { window.hits = 0; window.hit = () => { window.hits++; }; }"

# All elements that a text could have become, in the page and in every shadow root: [the allowed ones apart].
FOREIGN = """(allowed) => {
  const roots = [document, ...[...document.querySelectorAll("*")].flatMap((node) => node.shadowRoot ?? [])];
  const risky = "script, iframe, img, a, object, embed, form, input, audio, video, link, meta, base, marquee, " +
    "template, textarea, select, details, animate, set, foreignObject, math, xmp";
  return roots.flatMap((root) => [...root.querySelectorAll(risky)])
    .filter((node) => !node.matches(allowed)).map((node) => node.outerHTML.slice(0, 200));
}"""


def hostile(text, ranks=4):
    """A failed run with `text` wherever a learner's own can stand."""
    data = traced(ranks=ranks).to_dict()
    data["algorithm"] = text
    data["source"] = [[number, f"{line}  {text}"] for number, line in data["source"]]
    data["failure"] = {"verdict": text, "rank": 1, "round": 1, "text": text, "waiting": [(0, 1, 1)]}
    return Trace.from_dict(json.loads(json.dumps(data)))


# Mounts a player on each run, and uses all of it: every stop, the keys, the table, the tips, the history.
PLAY = """([code, runs]) => {
  const mountRing = new Function(code + "\\nreturn mountRing")();
  return runs.map((data, nth) => {
    const host = document.createElement("div");
    host.className = "ringlab-player";
    document.querySelector("main").append(host);
    mountRing(host, data, nth % 2 ? { beside: data } : {});
    const root = host.shadowRoot;
    const press = (key) => host.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    for (const key of ["ArrowRight", "Enter", "Escape", "End", "?", "ArrowLeft"]) press(key);
    root.querySelector("details").open = true;
    for (const kind of ["cell", "rank", "move"])
      root.querySelector(`[data-hit^=${kind}]`)?.dispatchEvent(new PointerEvent("pointermove", { bubbles: true }));
    press("End");
    const texts = [root.textContent, host.getAttribute("aria-label")];
    host.remove();
    return texts.join(" ").includes(data.name);
  });
}"""


def test_fifty_texts_do_nothing_in_a_player(show):
    assert len(SCRIPTS) >= 50
    page = show(html="").page
    page.evaluate(COUNT_HITS)
    runs = [encode(hostile(text)) for text in SCRIPTS]
    assert page.evaluate(PLAY, [player.script(), runs]) == [True] * len(runs)
    shown = show(rl.show(hostile(SCRIPTS[0])))  # and one as it travels, with its alternative text
    shown.press("End")
    assert shown.page.evaluate(FOREIGN, ".ringlab-player > img, head > meta, body script, details, select") == []
    assert page.evaluate("window.hits") == 0


def test_fifty_texts_do_nothing_in_what_is_html(show):
    """Pictures with their descriptions, errors, walls and wait-for graphs, as a saved notebook holds them."""
    run = rl.run(rl.ring_allreduce, wire="virtual")
    outputs = []
    for text in SCRIPTS:
        run.trace.algorithm = text
        still, _, _ = rl.show(hostile(text))._repr_html_().partition("<script>")
        error = rl.verdicts.RankException(f"rank 2 raised {text}", text, details=[text], rank=2)
        wait = Wait(0, 1, line=3, code=text)
        stuck = rl.verdicts.Deadlock(text, cycle=[(0, 0)], waits=[wait._replace(peer=0)], rank=0)
        outputs += [still, error._repr_html_(), rl.wall(run)._repr_html_(), rl.wait_graph(stuck)._repr_html_()]
    head = "<script>window.hits = 0; window.hit = () => { window.hits++; };</script>"
    page = show(html="".join(outputs), head=head).page
    pictures = page.locator("main img[alt]")
    assert pictures.count() == 3 * len(SCRIPTS)
    for picture in pictures.all()[:3]:
        assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 100
    assert page.evaluate(FOREIGN, "main img[src^='data:image/svg+xml'], head > *") == []
    assert page.locator("main pre").all_text_contents()[0].splitlines()[-1] == SCRIPTS[0]
    assert page.evaluate("window.hits") == 0


ASK = """([code, texts]) => {
  const { render } = new Function(code.replace("export default", "return"))();
  return texts.map((text) => {
    const values = { question: text, labels: [text, "other"], guess: 0, right: 0, answer: text, title: text,
      texts: [text], choices: [text, "no"], picked: [0], note: text };
    const el = document.createElement("div");
    document.querySelector("main").append(el);
    render({ model: { get: (name) => values[name], set() {}, save_changes() {}, on() {}, off() {} }, el });
    return el.textContent.includes(text);
  });
}"""


@pytest.mark.parametrize("widget", ["guess", "questions"])
def test_fifty_texts_do_nothing_in_questions(show, widget):
    page = show(html="").page
    page.evaluate(COUNT_HITS)
    code = with_hearing(text_of(f"{widget}.js"))
    assert page.evaluate(ASK, [code, SCRIPTS]) == [True] * len(SCRIPTS)
    assert page.evaluate(FOREIGN, "head > *, input[type=radio]") == []
    assert page.evaluate("window.hits") == 0


DRAW = """async (figures) => {
  const box = document.querySelector("main").appendChild(document.createElement("div"));
  const links = [];
  for (const { data, layout } of figures) {
    await Plotly.react(box, data, layout);
    links.push(...[...box.querySelectorAll("a:not(.modebar-btn--logo), img, script")].map((node) => node.outerHTML));
  }
  return links;
}"""


def test_fifty_texts_do_nothing_in_figures(show):
    """plotly reads a few tags in texts, so ours are escaped before."""
    plotly = importlib.resources.files("plotly") / "package_data" / "plotly.min.js"
    page = show(html="").page
    page.evaluate(COUNT_HITS)
    page.add_script_tag(path=str(plotly))
    views, runs = [], []
    for text in SCRIPTS:
        runs.append(rl.run(rl.ring_allreduce, ranks=2, wire="virtual"))
        runs[-1].algorithm = runs[-1].trace.algorithm = text
        views.append(rl.timeline(hostile(text, ranks=2), path=False))
    views.append(rl.skyline(*runs))
    views += [look(run) for run in runs[:4] for look in (rl.link_map, lambda run: rl.sum_tree(run, 0))]
    figures = [{"data": view.data, "layout": view.layout} for view in views]
    assert page.evaluate(DRAW, json.loads(json.dumps(figures, default=float))) == []
    assert page.evaluate(FOREIGN, "head > *, body > script, .modebar-btn--logo") == []
    assert page.evaluate("window.hits") == 0
