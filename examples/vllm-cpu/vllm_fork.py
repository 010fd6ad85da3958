"""Starts vLLM by forking a process that has imported it.

    vllm-fork --prepare SOCKET     import vLLM, and wait for launches
    VLLM_FORK=SOCKET vllm-fork serve ...

Most of a launch on a CPU is Python that imports vLLM, three times: for the API server, the engine
and the worker. Here all are forks of one process that has done so, and a launch takes a fifth of the processor
time. Weights, caches, threads and connections are made anew in each, as always. Without
VLLM_FORK only the engine and the worker are forks, of the API server.
"""

import json
import multiprocessing
import os
import select
import signal
import socket
import sys
from multiprocessing import resource_tracker


def vllm_main():
    """Import vLLM with forks for its processes, which its CPU platform would spawn."""
    import vllm.utils.system_utils

    vllm.utils.system_utils.get_mp_context = lambda: multiprocessing.get_context("fork")
    from vllm.entrypoints.cli.main import main

    return main


def prepare(path):
    """Import what a server imports, and fork a keeper for each client until killed."""
    main = vllm_main()
    import vllm.entrypoints.openai.api_server
    import vllm.model_executor.models.llama
    import vllm.v1.engine.async_llm
    import vllm.v1.engine.core
    import vllm.v1.executor.multiproc_executor
    import vllm.v1.worker.cpu_worker  # noqa: F401

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen()
        print(f"prepared: VLLM_FORK={path}", flush=True)
        while True:
            client, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                keep(client, main)
            client.close()


def keep(client, main):
    """Start a server for a client, tell it the exit status, and end with it."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    data, files, _, _ = socket.recv_fds(client, 1 << 20, 3)
    launch = json.loads(data)
    track_shared_memory()
    pid = os.fork()
    if pid == 0:
        os.setsid()
        for number, file in enumerate(files):
            os.dup2(file, number)
        client.close()
        os.chdir(launch["folder"])
        os.environ.clear()
        os.environ.update(launch["environment"])
        sys.argv = launch["arguments"]
        sys.exit(main())
    os.close(resource_tracker._resource_tracker._fd)
    client.send(f"{pid}\n".encode())
    while True:
        gone, status = os.waitpid(pid, os.WNOHANG)
        if gone:
            client.send(f"{os.waitstatus_to_exitcode(status)}\n".encode())
            os._exit(0)
        if select.select([client], [], [], 0.1)[0]:
            os.killpg(pid, signal.SIGKILL)  # the client is gone
            os._exit(0)


def track_shared_memory():
    """Give a launch a process that removes its segments in /dev/shm once all its processes have ended.

    The one that Python shares with forks removes nothing before the process that waits for launches has
    ended. This one is not of the server's process group, so that it outlives a kill of it.
    """
    tracker = resource_tracker._resource_tracker
    if tracker._fd is not None:
        os.close(tracker._fd)
    tracker._fd = tracker._pid = None
    tracker.ensure_running()


def launch(path):
    """Have a server started, pass signals on to it, and return its exit status."""
    with socket.socket(socket.AF_UNIX) as keeper:
        keeper.connect(path)
        what = {"folder": os.getcwd(), "environment": dict(os.environ), "arguments": sys.argv}
        socket.send_fds(keeper, [json.dumps(what).encode()], [0, 1, 2])
        answers = keeper.makefile()
        pid = int(answers.readline())
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda number, _: os.kill(pid, number))
        status = answers.readline()
        return 1 if status == "" else int(status) if int(status) >= 0 else 128 - int(status)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--prepare"]:
        prepare(sys.argv[2])
    sys.exit(launch(os.environ["VLLM_FORK"]) if "VLLM_FORK" in os.environ else vllm_main()())
