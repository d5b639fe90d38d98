"""What our widgets have in common: they hear Python on slow pages, too.

Imported only when one is shown (anywidget takes a third of a second).
"""

import uuid
from pathlib import Path

import anywidget
import traitlets

HERE = Path(__file__).parent


def with_hearing(*scripts):
    """The module of a widget: these scripts, after the one that makes it hear."""
    return "\n".join([text_of("hearing.js"), *scripts])


def text_of(file):
    """The text of a file beside this one."""
    return (HERE / file).read_text(encoding="utf-8")


class Widget(anywidget.AnyWidget):
    """An AnyWidget that knows its own id, by which `hear` of hearing.js finds it, and says all again when asked."""

    own = traitlets.Unicode().tag(sync=True)

    def __init__(self, **traits):
        own = uuid.uuid4().hex
        super().__init__(own=own, model_id=own, **traits)
        self.on_msg(lambda widget, said, buffers: widget.tell_again() if said == "again" else None)

    def tell_again(self):
        """Send all that can have changed; the script and the looks came with the widget itself."""
        self.send_state([name for name in self.keys if not name.startswith("_")])
