"""Hooks of the site: links to what is outside of docs/ lead to the repository, pictures are shown, headings have GitHub's anchors, and
fragments of files, which the tests do not load, are blocks of HCL like others."""
import os
import re

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


def slug(text, separator):
    """Return the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", separator)
