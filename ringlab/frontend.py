"""Which front end shows our outputs, and how a widget is shown with a plain form that never changes.

A widget's own plain form has an address or an id, so nbval would find a difference in every run. Here the plain
form is ours and only the view's id, which nbval skips, is the widget's.
"""

import sys

WIDGET_MIME = "application/vnd.jupyter.widget-view+json"


def in_jupyter():
    """True in a notebook's kernel. IPython is not imported to find out: without it there is no kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return hasattr(shell, "kernel")


def bundle(text, widget=None):
    """A mime bundle: `text`, and the view of `widget` where there is one."""
    if widget is None:
        return {"text/plain": text}
    view = {"version_major": 2, "version_minor": 0, "model_id": widget.model_id}
    return {"text/plain": text, WIDGET_MIME: view}


def display_bundle(text, widget=None):
    """Show a bundle as an output of its own."""
    from IPython.display import display

    display(bundle(text, widget), raw=True)
