package kv

import "github.com/servegate/pipeline/steps"

// sglangMode is a member's role in SGLang's words.
func sglangMode(m *member) string {
	if m.role == steps.RoleProducer {
		return "prefill"
	}
	return "decode"
}

// sglangBackend is a transfer backend of SGLang.
type sglangBackend struct {
	name string
	// devices says that it takes --disaggregation-ib-device.
	devices bool
}

// backend that a member gets.
func (l *Layout) backend() sglangBackend {
	t := *l.spec.Transfer
	switch {
	case t.Connector == "custom":
		return sglangBackend{text(t.Options["connector"]), true}
	case t.Connector == "mooncake" && t.Transport == TCP && l.preset.fabric == mooncakeNamed:
		return sglangBackend{"mooncake_tcp", false}
	}
	// UCX takes its devices from UCX_NET_DEVICES, which has precedence.
	return sglangBackend{l.preset.class, t.Connector == "mooncake" && t.Transport != TCP}
}

// writeSGLang adds the flags of a prefill or decode server.
func (l *Layout) writeSGLang(w *writer) {
	w.p = l.parts[0]
	backend := l.backend()
	w.setarg("disaggregation_mode", sglangMode(w.m))
	w.setarg("disaggregation_transfer_backend", backend.name)
	if w.m.produces() {
		w.setarg("disaggregation_bootstrap_port", w.port(PortBootstrap).value())
	}
	if backend.devices && w.devices() != "" {
		w.setarg("disaggregation_ib_device", w.devices())
	}
	// Without it the server tells nothing of its transfers.
	w.setarg("enable_metrics", true)
	if w.p.spec.Transport == NVLink && w.p.spec.Connector == "mooncake" {
		w.setenv("SGLANG_MOONCAKE_CUSTOM_MEM_POOL", "True")
	}
	l.preset.fabric.write(w)
	customEnv(w)
}
