"""Settings of the docs site: `make docs` builds it with Sphinx, without a network."""

import inspect
import re
from dataclasses import fields, is_dataclass

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


def with_field_comments(*event: object) -> None:
    """Add the comments on the fields of a dataclass to its docstring: `name: type  # comment`."""
    documented, lines = event[3], event[-1]
    if isinstance(documented, type) and isinstance(lines, list) and is_dataclass(documented):
        source = "".join(inspect.getsource(cls) for cls in documented.__mro__[::-1] if is_dataclass(cls))
        comments = dict(re.findall(r"^    (\w+): .*?  # (?!noqa|type:)(.+)$", source, re.MULTILINE))
        named = [field.name for field in fields(documented) if field.name in comments]
        lines += ["", *(f"- `{name}`: {comments[name]}" for name in named), ""]


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("autodoc-process-signature", without_objects)
    app.connect("autodoc-process-docstring", with_field_comments)
