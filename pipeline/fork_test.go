package main_test

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// vllmOfShm stands for vLLM as far as vllm_fork.py knows it: its engine takes shared memory and never gives it back.
// The server names the memory once it can end its engine, since the test ends it then.
const vllmOfShm = `
import multiprocessing, os, signal, time
from multiprocessing import shared_memory

def engine(server):
    segment = shared_memory.SharedMemory(create=True, size=4096)
    server.send(segment.name)
    time.sleep(600)

def main():
    engines, server = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=engine, args=(server,))
    def end(*_):
        child.kill()
        os._exit(0)
    child.start()
    signal.signal(signal.SIGTERM, end)
    print(engines.recv(), flush=True)
    time.sleep(600)
`

// TestForkLeavesNoSharedMemory: a launch of vllm_fork.py gives its shared memory back when it has ended, however it
// does, while the process that was prepared goes on.
func TestForkLeavesNoSharedMemory(t *testing.T) {
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("no python3 on PATH")
	}
	if _, err := os.Stat("/dev/shm"); err != nil {
		t.Skip("no /dev/shm")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		// Starts the process that tracks shared memory, as what vLLM imports does.
		"vllm/__init__.py":                       "from multiprocessing import resource_tracker\nresource_tracker.ensure_running()\n",
		"vllm/utils/system_utils.py":             "",
		"vllm/entrypoints/cli/main.py":           vllmOfShm,
		"vllm/entrypoints/openai/api_server.py":  "",
		"vllm/model_executor/models/llama.py":    "",
		"vllm/v1/engine/async_llm.py":            "",
		"vllm/v1/engine/core.py":                 "",
		"vllm/v1/executor/multiproc_executor.py": "",
		"vllm/v1/worker/cpu_worker.py":           "",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	program, err := filepath.Abs("../examples/vllm-cpu/vllm_fork.py")
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "socket")
	start := func(args ...string) (*exec.Cmd, *bufio.Reader) {
		cmd := exec.Command("python3", append([]string{program}, args...)...)
		cmd.Env = append(os.Environ(), "PYTHONPATH="+dir)
		if args[0] == "serve" {
			cmd.Env = append(cmd.Env, "VLLM_FORK="+socket)
		}
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
		return cmd, bufio.NewReader(out)
	}
	line := func(from *bufio.Reader) string {
		text, err := from.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(text)
	}
	_, prepared := start("--prepare", socket)
	if text := line(prepared); !strings.HasPrefix(text, "prepared") {
		t.Fatal(text)
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		client, out := start("serve")
		segment := filepath.Join("/dev/shm", line(out))
		if _, err := os.Stat(segment); err != nil {
			t.Fatal(err)
		}
		if err := client.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		// real time: processes end, and the one that tracks their memory after them.
		if !within(20*time.Second, 50*time.Millisecond, func() bool { _, err := os.Stat(segment); return err != nil }) {
			_ = os.Remove(segment)
			t.Errorf("%s is left after %s", segment, signal)
		}
	}
}
