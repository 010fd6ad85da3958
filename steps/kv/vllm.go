package kv

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/steps"
)

// failLoads makes a decode server answer with an error when KV does not arrive. Its
// other choice, to compute it again in silence, is what a comparison of transports must
// not measure. The setting came with 0.13.
func failLoads(w *writer) {
	if w.m.version.within("0.13", "") {
		w.top["kv_load_failure_policy"] = "fail"
	}
}

func nixlConfig(w *writer) {
	failLoads(w)
	w.setenv("VLLM_NIXL_SIDE_CHANNEL_HOST", w.in.host(w.m.Name))
	w.setenv("VLLM_NIXL_SIDE_CHANNEL_PORT", w.port(PortSideChannel).String())
}

func mooncakeConfig(w *writer) {
	failLoads(w)
	if w.m.produces() {
		w.setenv("VLLM_MOONCAKE_BOOTSTRAP_PORT", w.port(PortBootstrap).String())
	}
	if d := w.devices(); d != "" && w.p.spec.Transport != TCP {
		w.extra["device_name"] = d
	}
}

// mooncakeV0Config is the form of vLLM 0.6.4 to 0.8: one file, the same on both sides.
func mooncakeV0Config(w *writer) {
	v0Ranks(w, 2e9)
	fields := map[string]any{
		"prefill_url": w.in.address(w.peer(steps.RoleProducer).Name, PortKV),
		"decode_url":  w.in.address(w.peer(steps.RoleConsumer).Name, PortKV),
		"protocol":    v0Protocol(w.p.spec),
		"device_name": v0Devices(w),
	}
	maps.Copy(fields, w.l.metadataServer(w.in))
	w.jsonFile("mooncake.json", "MOONCAKE_CONFIG_PATH", fields)
}

// v0Ranks are the fields that connectors of the V0 engine have in common.
func v0Ranks(w *writer, buffer int64) {
	if w.p.spec.Buffer > 0 {
		buffer = w.p.spec.Buffer
	}
	w.top["kv_rank"] = int64(w.m.rank)
	w.top["kv_parallel_size"] = int64(len(w.l.members))
	w.top["kv_buffer_size"] = buffer
	v0Engine(w)
}

// v0Engine selects the engine that these connectors were made for, where V1 is the
// default, and makes it tell what it received.
func v0Engine(w *writer) {
	if w.m.version.within("0.8", "") {
		w.setenv("VLLM_USE_V1", "0")
	}
	// The only thing that these releases tell of a transfer is one line for each prompt.
	if w.m.consumes() {
		w.setenv("VLLM_LOGGING_LEVEL", "DEBUG")
	}
}

// v0Protocol of the old transfer engine, which takes it from the file.
func v0Protocol(t steps.TransferSpec) string {
	if t.Transport == RDMA || t.Transport == "" && len(t.Devices) > 0 {
		return "rdma"
	}
	return "tcp"
}

func v0Devices(w *writer) string {
	if v0Protocol(w.p.spec) == "tcp" {
		return ""
	}
	return w.devices()
}

// metadataServer says in a mooncake.json where peers find each other.
func (l *Layout) metadataServer(in Assigned) map[string]any {
	if s := l.service("etcd"); s != nil {
		return map[string]any{"metadata_server": in.address(s.spec.Name, PortHTTP), "metadata_backend": "etcd"}
	}
	if s := l.service("metadata"); s != nil {
		return map[string]any{"metadata_server": in.url(s.spec.Name, PortHTTP) + "/metadata"}
	}
	if s := l.service("mooncake_master"); s != nil {
		return map[string]any{"metadata_server": in.url(s.spec.Name, PortMetadata) + "/metadata"}
	}
	return nil
}

// storeV0Config is the store of vLLM 0.8's V0 engine.
func storeV0Config(w *writer) {
	v0Engine(w)
	w.top["kv_rank"] = int64(w.m.rank)
	w.top["kv_parallel_size"] = int64(len(w.l.members))
	fields := storeFields(w)
	fields["local_hostname"] = w.in.host(w.m.Name)
	fields["protocol"], fields["device_name"] = v0Protocol(w.p.spec), v0Devices(w)
	maps.Copy(fields, w.l.metadataServer(w.in))
	w.jsonFile("mooncake.json", "MOONCAKE_CONFIG_PATH", fields)
	hashSeed(w)
}

func storeConfig(w *writer) {
	fields := storeFields(w)
	fields["mode"] = "embedded"
	fields["metadata_server"] = "P2PHANDSHAKE"
	fields["protocol"], fields["device_name"] = v0Protocol(w.p.spec), v0Devices(w)
	w.jsonFile("mooncake.json", "MOONCAKE_CONFIG_PATH", fields)
	hashSeed(w)
}

func storeFields(w *writer) map[string]any {
	segment := int64(4 << 30)
	if w.p.spec.Buffer > 0 {
		segment = w.p.spec.Buffer
	}
	return map[string]any{
		"master_server_address": w.in.address(w.l.service("mooncake_master").spec.Name, PortHTTP),
		"global_segment_size":   segment,
		"local_buffer_size":     int64(1 << 30),
	}
}

// hashSeed makes all servers give the same prefix the same key.
func hashSeed(w *writer) { w.setenv("PYTHONHASHSEED", "0") }

// p2pConfig: numbers are texts in this connector's configuration. It gets no proxy_ip:
// then the servers do not announce themselves, and our router, which knows them, needs
// no ear for that.
func p2pConfig(w *writer) {
	w.top["kv_port"] = w.port(PortKV).String()
	w.top["kv_buffer_size"] = "8e9"
	if w.p.spec.Buffer > 0 {
		w.top["kv_buffer_size"] = fmt.Sprint(w.p.spec.Buffer)
	}
	if w.m.role == steps.RoleProducer {
		w.top["kv_buffer_size"] = "1e1" // it sends and keeps nothing
	}
	w.extra["send_type"] = "PUT_ASYNC"
}

func pyncclConfig(w *writer) {
	v0Ranks(w, 5e9)
	producer := w.peer(steps.RoleProducer).Name
	w.top["kv_ip"] = w.in.host(producer)
	w.top["kv_port"] = w.in.number(Port{producer, PortKV}).value()
}

// lmcacheExtra are the settings of LMCache that vLLM hands over; all others are in
// LMCache's own file.
func lmcacheExtra(name string) bool {
	return strings.HasPrefix(name, "lmcache.") || slices.Contains(append(lifted, "discard_partial_chunks", "lmcache_rpc_port"), name)
}

func lmcacheConfig(w *writer) {
	settings := map[string]any{}
	if w.m.role != steps.RoleBoth {
		w.extra["discard_partial_chunks"] = false
		w.extra["lmcache_rpc_port"] = fmt.Sprintf("%s%d", w.m.role, w.m.rank)
		lmcachePair(w, settings)
	}
	for name, v := range w.p.spec.Config {
		if !lmcacheExtra(name) {
			settings[name] = v
		}
	}
	if len(settings) > 0 {
		w.file("lmcache.yaml", "LMCACHE_CONFIG_FILE", yaml(settings))
	}
	hashSeed(w)
	w.setenv("VLLM_WORKER_MULTIPROC_METHOD", "spawn")
}

// lmcachePair is LMCache over NIXL: the decode server listens, the prefill server sends.
func lmcachePair(w *writer, settings map[string]any) {
	buffer := int64(1 << 30)
	if w.p.spec.Buffer > 0 {
		buffer = w.p.spec.Buffer
	}
	role := "sender"
	if w.m.role == steps.RoleConsumer {
		role = "receiver"
	}
	receiver := w.peer(steps.RoleConsumer).Name
	maps.Copy(settings, map[string]any{
		"local_cpu": false, "max_local_cpu_size": 0, "max_local_disk_size": 0,
		"enable_nixl": true, "nixl_role": role,
		"nixl_peer_host": w.in.host(receiver), "nixl_peer_port": w.in.number(Port{receiver, PortKV}).value(),
		"nixl_buffer_size": buffer, "nixl_buffer_device": "cuda", "nixl_enable_gc": true,
	})
}

// DefaultSharedPath is the folder of the example connector unless the file names one.
const DefaultSharedPath = "/tmp/pipeline-kv"

func exampleConfig(w *writer) {
	w.extra["shared_storage_path"] = DefaultSharedPath
	if path := text(w.p.spec.Options["path"]); path != "" {
		w.extra["shared_storage_path"] = path
	}
}

func customConfig(w *writer) {
	w.top["kv_connector"] = text(w.p.spec.Options["connector"])
	if module := text(w.p.spec.Options["module_path"]); module != "" {
		w.top["kv_connector_module_path"] = module
	}
	customEnv(w)
}

func customEnv(w *writer) {
	env, _ := w.p.spec.Options["env"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(env)) {
		w.setenv(name, text(env[name]))
	}
}
