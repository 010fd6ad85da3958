package engine

import (
	"slices"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/steps"
)

// Unknown is the class of a failure without a matching rule.
const Unknown = "unknown"

// Rule recognises one cause of failure by a line of the server's log.
type Rule struct {
	// Class is the cause as a short word with underscores, used in reports and tests.
	Class string
	// Pattern matches a line.
	Pattern *lazyregexp.Regexp
}

// NewRule returns a rule; the pattern is part of the program.
func NewRule(class, pattern string) Rule {
	return Rule{Class: class, Pattern: lazyregexp.New(pattern)}
}

// maxEvidence limits the quoted line.
const maxEvidence = 300

// Classify returns the class of the first rule that matches any line, and that line. The order of
// the rules decides, not the order of lines, because engines repeat the cause in later, more
// general messages. Of several lines it returns the first, which is closest to the cause.
func Classify(rules []Rule, logTail []string) (class, evidence string) {
	for _, r := range rules {
		for _, line := range logTail {
			if r.Pattern.MatchString(line) {
				return r.Class, steps.Line(line, maxEvidence)
			}
		}
	}
	return Unknown, ""
}

// SharedRules returns rules for the causes that all engines on PyTorch and CUDA share. The messages
// are those of vLLM 0.11 to 0.33, SGLang 0.5, PyTorch 2, NCCL 2 and Mooncake 0.3.
func SharedRules() []Rule {
	return []Rule{
		NewRule("port_in_use", `(?i)EADDRINUSE|address already in use`),
		NewRule("out_of_memory", `OutOfMemoryError|CUDA out of memory|HIP out of memory`),
		NewRule("host_out_of_memory",
			`(?i)\boom[-_]kill|\btask [0-9,-]+: Out Of Memory|Out of memory: Killed process|MemoryError\b|Cannot allocate memory \(os error 12\)|on kv cache allocation is less than requested memory`),
		NewRule("disk_full", `(?i)No space left on device`),
		NewRule("driver",
			`NVIDIA driver on your system is too old|provided PTX was compiled with an unsupported toolchain|lib(cuda|cudart|cublas|nccl)[A-Za-z]*\.so[.0-9]*: cannot open|could not select device driver|CUDA driver version is insufficient|No CUDA GPUs are available|Found no NVIDIA driver|CUDA error: no kernel image`),
		NewRule("rdma",
			`Failed to register memory 0x|port not active|No available RNIC|No RDMA devices found|ibv_reg_mr.*(failed|Cannot allocate)|CREATE_MKEY|memory region.*Resource temporarily unavailable \[11\]`),
		NewRule("nccl",
			`NCCL error|DistStoreError|Timed out after [0-9]+ seconds waiting for clients|Watchdog caught collective operation timeout|ncclSystemError|ncclUnhandledCudaError|ncclRemoteError`),
		NewRule("model_access", `(?i)gated repo|401 Client Error|403 Client Error|Access to model .* is restricted`),
		NewRule("model_missing",
			`does not appear to have a file named|HFValidationError: |Invalid repository ID or local directory|Can't load the configuration of|is not a local folder and is not a valid model identifier|Repository Not Found|RepositoryNotFoundError|couldn't connect to .*huggingface|LocalEntryNotFoundError|OfflineModeIsEnabled`),
		NewRule("connector",
			`Unsupported connector type|Mooncake is not available|NIXL is not available|does not support HMA|No module named '(nixl|mooncake|lmcache)`),
		NewRule("transfer_mismatch",
			`compatibility hash mismatch|Timeout waiting for P side ready|Got invalid KVTransferParams|Missing transfer_id in kv_transfer_params`),
		NewRule("arguments",
			`error: (unrecognized arguments|argument |the following arguments are required|invalid choice)|expected (one|at least one) argument|ambiguous option`),
		NewRule("not_installed",
			`No module named|command not found|ModuleNotFoundError|executable file not found|No such file or directory: '?(vllm|python3?)`),
	}
}

// Symptom reports whether a class only means that something failed or that processes lost each
// other, so that there may be another cause.
func Symptom(class string) bool {
	return class == "" || class == Unknown || class == "nccl" ||
		slices.ContainsFunc(LastRules(), func(r Rule) bool { return r.Class == class })
}

// LastRules returns rules for messages that only report a failure. Append them to other rules.
func LastRules() []Rule {
	return []Rule{
		NewRule("terminated", `KeyboardInterrupt: terminated|Received signal 15|SIGTERM`),
		NewRule("engine_failed",
			`Engine core initialization failed|EngineDeadError|EngineCore encountered (a fatal|an) error|Scheduler hit an exception|Received sigquit from a child process|Segmentation fault|Fatal Python error`),
		NewRule("exception", `(^|[\s\])])[A-Za-z_.]*(Error|Exception): \S`),
		NewRule("exception", `Traceback \(most recent call last\)`),
	}
}
