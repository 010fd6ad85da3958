package engine_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/servegate/pipeline/steps/engine"
)

// Lines as vLLM 0.11 to 0.33, SGLang 0.5, PyTorch, NCCL, Mooncake, Docker and Python print them.
func TestSharedRules(t *testing.T) {
	tests := []struct{ class, line string }{
		{"port_in_use", "ERROR:    [Errno 98] error while attempting to bind on address ('127.0.0.1', 8000): address already in use"},
		{"port_in_use", "OSError: [Errno 98] Address already in use"},
		{"port_in_use", "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 32847, " +
			"useIpv6: 0, code: -98, name: EADDRINUSE"},
		{"port_in_use", "zmq.error.ZMQError: Address already in use (addr='tcp://0.0.0.0:5557')"},
		{"port_in_use", "E0902 13:08:10.000000 42 transfer_engine_impl.cpp:99] RpcMeta: bind address already in use"},
		{"out_of_memory", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.16 GiB. GPU 0 has a total capacity of 21.98 GiB"},
		{"host_out_of_memory", "slurmstepd: error: Detected 1 oom_kill event in StepId=12.0. Some of the step tasks have been OOM Killed."},
		{"host_out_of_memory", "srun: error: node1: task 0: Out Of Memory"},
		{"host_out_of_memory", "[ 123.4] Out of memory: Killed process 4242 (python3) total-vm:1kB"},
		{"host_out_of_memory",
			"ValueError: Available memory on node 0 (1.2/23.4 GiB) on kv cache allocation is less than requested memory for kv (4.0 GiB)."},
		{"disk_full", "OSError: [Errno 28] No space left on device"},
		{"driver", "RuntimeError: The NVIDIA driver on your system is too old (found version 12020)."},
		{"driver", "RuntimeError: CUDA error: the provided PTX was compiled with an unsupported toolchain."},
		{"driver", "ImportError: libcudart.so.12: cannot open shared object file: No such file or directory"},
		{"driver", `docker: Error response from daemon: could not select device driver "" with capabilities: [[gpu]].`},
		{"rdma", "E0101 rdma_context.cpp:200] Failed to register memory 0x7f00: Bad address [14]"},
		{"rdma", "E0101 Device mlx5_0 port not active"},
		{"rdma", "E0902 rdma_context.cpp:200] Failed to register memory 0x7f00: Cannot allocate memory [12]"},
		{"rdma", "E0902 worker_pool.cpp:11] No available RNIC"},
		{"nccl", "torch.distributed.DistStoreError: Timed out after 601 seconds waiting for clients. 1/2 clients joined."},
		{"nccl", "RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)"},
		{"nccl", "[rank0]:[E] [PG ID 2 Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=3, OpType=ALLREDUCE) ran for " +
			"600000 milliseconds"},
		{"model_access", "requests.exceptions.HTTPError: 403 Client Error: Forbidden for url: https://huggingface.co/x"},
		{"model_access", "OSError: You are trying to access a gated repo."},
		{"model_missing", "OSError: org/model does not appear to have a file named model-00002-of-00004.safetensors."},
		{"model_missing",
			"OSError: org/nothing is not a local folder and is not a valid model identifier listed on 'https://huggingface.co/models'"},
		{"model_missing",
			"huggingface_hub.errors.HFValidationError: Repo id must be in the form 'repo_name' or 'namespace/repo_name': '/nonexistent/model'."},
		{"connector",
			"ValueError: Connector NixlConnector does not support HMA but HMA is enabled. Please set `--disable-hybrid-kv-cache-manager`."},
		{"connector", "ValueError: Unsupported connector type: P2pNcclConnector"},
		{"connector", "RuntimeError: NIXL is not available"},
		{"transfer_mismatch", "NIXL compatibility hash mismatch between local and remote"},
		{"transfer_mismatch", "Missing transfer_id in kv_transfer_params from router!"},
		{"arguments", "vllm: error: unrecognized arguments: --enable-chunked-prefil"},
		{"arguments", "launch_server.py: error: argument --tp-size: invalid int value: 'two'"},
		{"not_installed", "/usr/bin/python3: No module named vllm"},
		{"not_installed", "sh: 1: vllm: command not found"},
		{"terminated", "KeyboardInterrupt: terminated"},
		{"engine_failed", "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}"},
		{"engine_failed",
			"vllm.v1.engine.exceptions.EngineDeadError: EngineCore encountered an issue. See stack trace (above) for the root cause."},
		{"engine_failed", "Received sigquit from a child process. It usually means the child failed."},
		{"exception", "(EngineCore_0 pid=12) ValueError: head size 80 is not supported"},
		{"exception", "Traceback (most recent call last):"},
		{engine.Unknown, "INFO 01-01 00:00:00 [api_server.py:1] Started server process [1]"},
	}
	rules := slices.Concat(engine.SharedRules(), engine.LastRules())
	tested := map[string]bool{}
	for _, tt := range tests {
		noise := []string{"INFO starting", "  " + tt.line + "  ", "INFO ending"}
		class, evidence := engine.Classify(rules, noise)
		if class != tt.class {
			t.Errorf("%s: got %s, want %s", tt.line, class, tt.class)
		}
		if class != engine.Unknown && evidence != strings.Join(strings.Fields(tt.line), " ") {
			t.Errorf("evidence is %q, want %q", evidence, tt.line)
		}
		tested[tt.class] = true
	}
	for _, r := range rules {
		if !tested[r.Class] {
			t.Errorf("no line tests class %s", r.Class)
		}
	}
}

func TestClassifyOrder(t *testing.T) {
	tail := []string{
		"Traceback (most recent call last):",
		"torch.OutOfMemoryError: CUDA out of memory. first",
		"RuntimeError: Engine core initialization failed. See root cause above.",
		"torch.OutOfMemoryError: CUDA out of memory. second",
	}
	class, evidence := engine.Classify(slices.Concat(engine.SharedRules(), engine.LastRules()), tail)
	if class != "out_of_memory" || !strings.HasSuffix(evidence, "first") {
		t.Errorf("got %s, %q: the cause comes before its wrappers and the first line before the second", class, evidence)
	}
	_, evidence = engine.Classify([]engine.Rule{engine.NewRule("x", "é")}, []string{strings.Repeat("é", 300)})
	if len(evidence) > 300+len("…") {
		t.Errorf("evidence has %d bytes", len(evidence))
	}
}
