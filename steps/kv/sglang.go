package kv

import (
	"fmt"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/steps"
)

// SGLang is the engine's name in forms.
const SGLang = "sglang"

var sglang = &engine{
	name: SGLang, title: "SGLang", oneEnd: true,
	httpSpacing: 300, // the ports that it derives begin 233 above
	ports:       func(m *Member) ([]PortNeed, error) { return one(m.Need(PortNCCL, 1, 1, "nccl_port")) },
	pinned:      PortNCCL,
	pin:         func(w *Writer) { w.setArg("nccl_port", value(w.Port(PortNCCL))) },
	write:       sglangWrite,
	checkTransfer: func(p part) error {
		switch {
		case p.spec.Options["module_path"] != nil:
			return fmt.Errorf("SGLang loads no connector from a module; remove module_path")
		case len(p.spec.Config) > 0:
			return fmt.Errorf("SGLang has no settings of a connector besides its flags; write config as args and env of the servers")
		}
		return nil
	},
	checkArgs: func(l *Layout, m *Member) error {
		for _, own := range [][2]string{{"disaggregation_mode", sglangMode(m)}, {"disaggregation_transfer_backend",
			l.form.class(*l.spec.Transfer)}} {
			if v, ok := m.arg(own[0]); ok && fmt.Sprint(v) != own[1] {
				return fmt.Errorf("server %q sets args.%s = %v, but the deployment makes it %s; remove the argument", m.Name, own[0], v, own[1])
			}
		}
		return nil
	},
	counters: map[string][]string{
		metric.CounterPrefixHits:       {"sglang:cached_tokens_total"},
		metric.CounterTransferFailures: {"sglang:num_transfer_failed_reqs_total"},
	},
	blockSizes: []string{"server_info.page_size", "page_size"},
	gauge:      true,
	// SGLang 0.5, disaggregation/decode.py, prefill.py and mooncake/conn.py.
	lines: []Line{
		{Words: []string{"Failed to get kvcache from prefill instance"}, Says: Signal{Kind: Failed}},
		{Words: []string{"transfer failed for request rank"}, Says: Signal{Kind: Failed}},
		{Words: []string{"KVTransferError"}, Says: Signal{Kind: Failed}},
	},
}

// sglangMode returns a member's role in SGLang's terms.
func sglangMode(m *Member) string {
	if m.role == steps.RoleProducer {
		return "prefill"
	}
	return "decode"
}

// sglangWrite adds the flags of a prefill or decode server.
func sglangWrite(w *Writer) {
	w.part = w.layout.parts[0]
	form, spec := w.part.form, w.part.spec
	w.setArg("disaggregation_mode", sglangMode(w.member))
	w.setArg("disaggregation_transfer_backend", form.class(spec))
	if w.member.Produces() {
		w.setArg("disaggregation_bootstrap_port", value(w.Port(PortBootstrap)))
	}
	if form.DeviceFlag && (spec.Transport != TCP || form.Class == "") && w.Devices() != "" {
		w.setArg("disaggregation_ib_device", w.Devices())
	}
	// Otherwise the server reports no transfers.
	w.setArg("enable_metrics", true)
	if form.Config != nil {
		form.Config(w)
	}
	form.Library.write(w)
}

func sglangBootstrap(m *Member) ([]PortNeed, error) {
	if !m.Produces() {
		return nil, nil
	}
	return one(m.Need(PortBootstrap, 1, 0, "disaggregation_bootstrap_port"))
}
