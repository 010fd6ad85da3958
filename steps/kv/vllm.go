package kv

import (
	"fmt"
	"maps"
	"slices"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine/argument"
)

// VLLM is the engine's name in forms.
const VLLM = "vllm"

var vllm = &engine{
	name: VLLM, title: "vLLM", httpSpacing: 1,
	ports: func(m *Member) ([]PortNeed, error) {
		return one(m.Need(PortInternal, 1, internalSpan, m.internalVariable()))
	},
	pinned: PortInternal,
	pin: func(w *Writer) {
		w.SetEnv(w.member.internalVariable(), w.Port(PortInternal).String())
	},
	write:     vllmWrite,
	checkArgs: vllmCheckArgs,
	counters: map[string][]string{
		metric.CounterPrefixHits:   {"vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"},
		metric.CounterExternalHits: {"vllm:external_prefix_cache_hits_total", "vllm:external_prefix_cache_hits"},
	},
	blockSizes: []string{"server_info.vllm_config.cache_config.block_size"}, // the backend may have rounded the configured size
	silent: func(version string) string {
		if within(version, "", "0.10") {
			return "this version has no counters of transfers; VLLM_LOGGING_LEVEL=DEBUG in decode's env, the machine's network counters, or a " +
				"newer version would show it"
		}
		return ""
	},
	lines: []Line{
		// vLLM 0.10 to 0.33, kv_connector/v1/metrics.py.
		{Words: []string{"KV Transfer metrics:"}, Read: func(line string) Signal { return counted(line, "Num successful transfers=") }},
		// vLLM 0.6.4 to 0.10 with VLLM_LOGGING_LEVEL=DEBUG, simple_connector.py; the store's connector of these
		// releases logs the second as a warning.
		{Words: []string{"Successfully received all KVs and hidden states"}, Says: Signal{Kind: Moved}},
		{Words: []string{"Failed to receive all KVs and hidden states"}, Says: Signal{Kind: Recomputed}},
		// vLLM 0.13 to 0.33: the request is served without a transfer.
		{Words: []string{"will not utilize KVTransfer"}, Says: Signal{Kind: Recomputed}},
		{Words: []string{"Missing transfer_id in kv_transfer_params"}, Says: Signal{Kind: Recomputed}},
	},
}

// counted reads a line that has the number of transfers or tokens after a text.
func counted(line, behind string) Signal {
	if n := figure(line, behind); n > 0 {
		return Signal{Kind: Moved, Count: n}
	}
	return Signal{}
}

func vllmCheckArgs(_ *Layout, m *Member) error {
	for _, a := range m.Spec.Args {
		if argument.FullName(m.Spec, a.Name) == "kv_transfer_config" && a.Value != nil {
			return fmt.Errorf(
				"server %q sets args.%s beside a kv_transfer block; keep one of them: kv_transfer \"custom\" takes what no preset has", m.Name, a.Name)
		}
	}
	return nil
}

// internalSpan separates the ports at which two servers start to search. Servers that start together would
// otherwise find the same free port.
const internalSpan = 100

// internalVariable returns the variable that sets where a vLLM server starts to search for ports.
func (m *Member) internalVariable() string {
	if m.replicas > 1 {
		return "VLLM_DP_MASTER_PORT"
	}
	return "VLLM_PORT"
}

// lifted lists the settings in config that belong to kv_transfer_config itself; all others go into the
// connector's extra config.
var lifted = []string{"kv_buffer_device", "kv_buffer_size", "kv_load_failure_policy", "enable_permute_local_kv"}

// vllmWrite adds --kv-transfer-config and the environment variables that its connectors read.
func vllmWrite(w *Writer) {
	l := w.layout
	// The address that the server tells its peers; by default it guesses the machine's first one.
	w.SetEnv("VLLM_HOST_IP", w.Host())
	configs := make([]any, len(l.parts))
	for i, p := range l.parts {
		configs[i] = transferConfig(w, p)
	}
	config := configs[0]
	if l.connector.several {
		extra := maps.Clone(l.spec.Transfer.Config)
		extra["connectors"] = configs
		w.Top = map[string]any{"kv_connector": l.form.Class, "kv_role": "kv_" + w.member.role, "kv_connector_extra_config": extra}
		failLoads(w)
		config = w.Top
	}
	w.args = append(w.args, steps.Arg{Name: "kv_transfer_config", Value: config})
}

// transferConfig returns the configuration of one connector. It adds the variables that the connector reads to
// w.
func transferConfig(w *Writer, p part) map[string]any {
	if p.form == nil {
		return p.raw
	}
	w.part = p
	w.Top = map[string]any{"kv_connector": p.form.class(p.spec), "kv_role": "kv_" + w.member.role}
	w.Extra = map[string]any{}
	if p.form.Config != nil {
		p.form.Config(w)
	}
	p.form.Library.write(w)
	for name, v := range p.spec.Config {
		switch {
		case p.form.OwnFile != nil && p.form.OwnFile(name):
		case slices.Contains(lifted, name):
			w.Top[name] = v
		default:
			w.Extra[name] = v
		}
	}
	if len(w.Extra) > 0 {
		w.Top["kv_connector_extra_config"] = w.Extra
	}
	return w.Top
}

// failLoads makes a decode server return an error if KV does not arrive. By default it silently computes the
// prompt again, which would spoil a comparison of transports. The setting exists since 0.13.
func failLoads(w *Writer) {
	if within(w.member.Spec.Version, "0.13", "") {
		w.Top["kv_load_failure_policy"] = "fail"
	}
}

// hashSeed makes all servers derive the same key for the same prefix.
func hashSeed(w *Writer) { w.SetEnv("PYTHONHASHSEED", "0") }
