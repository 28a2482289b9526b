"""Settings of the docs site: `make docs` builds it with Sphinx, without a network."""

import re

from sphinx.application import Sphinx

from interloq import __version__

project = "Interloq"
html_title = f"Interloq {__version__}"
extensions = ["myst_nb", "sphinx.ext.autodoc"]
html_theme = "furo"  # bundles its styles and scripts, uses the reader's fonts
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = html_show_copyright = False
myst_heading_anchors = 4  # links such as `data.md#csv-and-tsv`
nb_execution_mode = "off"  # a test keeps the outputs in the notebook up to date
smartquotes = False
default_role = "code"  # docstrings write `name` for code
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 100


def without_objects(*event: object) -> tuple[str, object] | None:
    """Show a default such as `<function silent>` as `...`: a signature with one cannot be parsed, and has no links."""
    signature, returned = event[-2:]
    return (re.sub(r"= <[^>]*>", "= ...", signature), returned) if isinstance(signature, str) else None


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-signature", without_objects)
