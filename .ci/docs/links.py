"""Hooks of the site: links to what is outside of docs/ lead to the repository, pictures are shown, and headings have GitHub's anchors."""
import os
import re

TARGET = re.compile(r"(\]\()((?:\.\./)+[^)\s]*)(\))")


def on_page_markdown(markdown, page, config, files):
    """Replace links to files outside of docs/ that exist by their addresses in the repository."""
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

    return TARGET.sub(address, markdown)


def slug(text, separator):
    """Return the anchor that GitHub gives a heading."""
    return re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", separator)
