"""Hooks of the site: links to what is outside of docs/ lead to the repository, pictures are shown, headings have GitHub's anchors, and
fragments of files, which the tests do not load, are blocks of HCL like others."""
import os
import re

from mkdocs.exceptions import PluginError

FRAGMENT = re.compile(r"^(```hcl) fragment$", re.MULTILINE)
TARGET = re.compile(r"(\]\()((?:\.\./)+[^)\s]*)(\))")


def on_page_markdown(markdown, page, config, files):
    """Replace links to files outside of docs/ that exist by their addresses in the repository, and what marks a fragment."""
    folder = os.path.dirname(page.file.abs_src_path)
    root = os.path.dirname(config.docs_dir)

    def address(match):
        path, _, anchor = match[2].partition("#")
        found = os.path.normpath(os.path.join(folder, path))
        if found.startswith(config.docs_dir + os.sep) or not os.path.exists(found):
            return match[0]  # the site has it, or says that it is missing
        kind = "tree" if os.path.isdir(found) else "raw" if found.endswith((".png", ".svg")) else "blob"
        url = f"{config.repo_url.rstrip('/')}/{kind}/main/{os.path.relpath(found, root)}"
        return match[1] + url + ("#" + anchor if anchor else "") + match[3]

    return FRAGMENT.sub(r"\1", TARGET.sub(address, markdown))


def on_page_content(html, page, config, files):
    """Refuse a list or a table that became part of a paragraph, for want of an empty line before it."""
    for text in re.findall(r"<p>(.*?)</p>", html, re.DOTALL):
        if re.search(r"^(\* |\|-|\|:)", text, re.MULTILINE):
            raise PluginError(f"{page.file.src_uri}: no empty line before {text[:80]!r}")


def slug(text, separator):
    """Return the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", separator)
