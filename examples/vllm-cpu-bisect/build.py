#!/usr/bin/env python3
"""Build vLLM in a checkout: its Python code, with the compiled parts of an installed one.

    build.py VENV

Writes bin/vllm, which runs the code of this checkout. What the checkout does not change is a link to
the installed file, so that Python has it compiled already.
"""

import filecmp
import os
import pathlib
import shutil
import sys

CHECKOUT = pathlib.Path.cwd()


def main():
    venv = pathlib.Path(sys.argv[1]).resolve()
    installed = next(venv.glob("lib/python3*/site-packages/vllm"))
    site = CHECKOUT / "site" / "vllm"
    changed = 0
    for folder, _, names in os.walk(installed):
        relative = pathlib.Path(folder).relative_to(installed)
        (site / relative).mkdir(parents=True)
        for name in names:
            source, ours = pathlib.Path(folder, name), CHECKOUT / "vllm" / relative / name
            if name.endswith(".py") and not filecmp.cmp(source, ours, shallow=False):
                shutil.copy(ours, site / relative / name)
                changed += 1
            else:
                os.symlink(source, site / relative / name)
    program = CHECKOUT / "bin" / "vllm"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nPYTHONPATH="{site.parent}" exec "{venv}/bin/vllm-fork" "$@"\n')
    program.chmod(0o755)
    print(f"{changed} files differ from what is installed")


main()
