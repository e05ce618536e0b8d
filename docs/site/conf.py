# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""How Sphinx makes the site of docs/. docs/build.sh calls it."""
import os
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]

project = "ktopk"
author = "The ktopk authors"
copyright = author
release = re.search(r"project\(ktopk VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1]

extensions = ["myst_parser", "breathe", "sphinx_copybutton"]
exclude_patterns = ["site/**", "programs/**", "images/**", "requirements.txt"]
templates_path = []

# Pages are Markdown. A heading has the anchor that Git hosts give it, too.
myst_enable_extensions = ["colon_fence", "attrs_block", "deflist"]
myst_heading_anchors = 4
# An indented block may be anything.
highlight_language = "text"

breathe_projects = {"ktopk": os.environ.get("KTOPK_DOXYGEN", "") + "/xml"}
breathe_default_project = "ktopk"
breathe_default_members = ("members",)
breathe_show_include = False
cpp_index_common_prefix = ["ktopk::", "ktopk::mpi::"]
cpp_id_attributes = ["KOKKOS_FUNCTION", "KOKKOS_FORCEINLINE_FUNCTION"]
toc_object_entries = False

html_theme = "furo"
html_title = f"ktopk {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True, "top_of_page_buttons": []}
pygments_style = "default"
pygments_dark_style = "github-dark"
copybutton_prompt_text = "$ "

# A link to a file that is no page, as ../perf/README.md, works in the source tree alone: here it is the file's name.
OUT_OF_DOCS = re.compile(r"\[([^]]*)\]\((?:\.\./)+(?!calls/|keys/|images/)([a-z]+/[^)]*|[A-Z][^)]*)\)")


def name_files_out_of_docs(app, page, source):
    def named(link):
        target = ROOT / link[2].split("#")[0]
        page_of_site = (ROOT / "docs") in target.parents or not target.exists()
        return link[0] if page_of_site else f"{link[1]} (`{link[2]}`)"

    source[0] = OUT_OF_DOCS.sub(named, source[0])


def setup(app):
    app.connect("source-read", name_files_out_of_docs)
