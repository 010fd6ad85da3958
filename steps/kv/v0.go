package kv

import (
	"fmt"

	"github.com/servegate/pipeline/steps"
)

// Configuration shared by the connectors of vLLM's V0 engine.

// v0Ranks sets the fields of these connectors.
func v0Ranks(w *Writer, buffer int64) {
	w.Top["kv_rank"] = int64(w.member.rank)
	w.Top["kv_parallel_size"] = int64(len(w.layout.members))
	w.Top["kv_buffer_size"] = w.buffer(buffer)
	v0Engine(w)
}

// v0Engine selects V0 where V1 is the default, and makes it log what it received.
func v0Engine(w *Writer) {
	if within(w.member.Spec.Version, "0.8", "") {
		w.SetEnv("VLLM_USE_V1", "0")
	}
	// The only line that these releases log about a transfer is at level DEBUG, one per prompt.
	if w.member.Consumes() {
		w.SetEnv("VLLM_LOGGING_LEVEL", "DEBUG")
	}
}

// v0Protocol returns the protocol for the old transfer engine, which reads it from the file.
func v0Protocol(t steps.TransferSpec) string {
	if t.Transport == RDMA || t.Transport == "" && len(t.Devices) > 0 {
		return "rdma"
	}
	return "tcp"
}

func v0Devices(w *Writer) string {
	if v0Protocol(w.part.spec) == "tcp" {
		return ""
	}
	return w.Devices()
}

// resolveV0 checks the fields of a lookup buffer between one prefill and one decode server.
func resolveV0(p *Part) error {
	for _, name := range []string{"kv_rank", "kv_parallel_size"} {
		if _, set := p.Config[name]; !set {
			return Refused{fmt.Sprintf("AssertionError: %s is None; a V0 connector needs it", name)}
		}
	}
	if p.Consumes && p.Produces {
		return Refused{"ValueError: kv_both is not supported by " + p.Class}
	}
	return nil
}
