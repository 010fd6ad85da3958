package kv

import (
	"fmt"

	"github.com/servegate/pipeline/steps"
)

// What the connectors of vLLM's V0 engine have in common.

// v0Ranks are their fields.
func v0Ranks(w *Writer, buffer int64) {
	w.Top["kv_rank"] = int64(w.member.rank)
	w.Top["kv_parallel_size"] = int64(len(w.layout.members))
	w.Top["kv_buffer_size"] = w.buffer(buffer)
	v0Engine(w)
}

// v0Engine selects the engine that these connectors were made for, where V1 is the
// default, and makes it log what it received.
func v0Engine(w *Writer) {
	if within(w.member.Spec.Version, "0.8", "") {
		w.SetEnv("VLLM_USE_V1", "0")
	}
	// The only thing that these releases log of a transfer is one line for each prompt.
	if w.member.Consumes() {
		w.SetEnv("VLLM_LOGGING_LEVEL", "DEBUG")
	}
}

// v0Protocol of the old transfer engine, which takes it from the file.
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

// resolveV0 is a lookup buffer, between exactly one prefill and one decode server.
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
