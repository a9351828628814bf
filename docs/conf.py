"""Settings of the manual for Sphinx; `make docs` builds it. Pages are Markdown, so they read well in the repository, too."""

import ingot

project = "ingot"
author = "the authors of ingot"
copyright = "the authors of ingot"
version = release = ingot.__version__

extensions = ["myst_parser", "sphinx_design", "sphinx_copybutton", "ingot.tools.manual.sphinx_extension"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
exclude_patterns = ["Thumbs.db", ".DS_Store"]
smartquotes = False             # quotes stand around strings of Python
maximum_signature_line_length = 90
python_use_unqualified_type_names = True
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True
copybutton_exclude = ".linenos, .gp, .go"

html_theme = "pydata_sphinx_theme"
html_title = "ingot"
html_static_path = ["_static"]
html_css_files = ["manual.css"]
html_show_sourcelink = False
html_context = {"default_mode": "auto"}
html_copy_source = False
html_theme_options = {
    "logo": {"text": "ingot"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_prev_next": False,
    "navigation_with_keys": False,
    # The list of headings stands beside written pages; names of the reference need the width. Patterns may not overlap.
    "secondary_sidebar_items": {
        **{pages: ["page-toc"] for pages in ("*", "start/*", "from_pytorch/*", "guides/*", "generated/files/*")},
        **{pages: [] for pages in ("generated/*", "generated/reference/*", "generated/modules/*", "source/**")},
    },
    "footer_start": ["copyright"],
    "footer_end": [],
    "use_edit_page_button": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": [], "generated/coverage": [], "generated/reference/**": [], "generated/modules/**": [],
                 "source/**": [], "search": []}
