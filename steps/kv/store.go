package kv

import (
	"maps"
)

// mooncakeStore is a pool that servers share. Its first release for V1, 0.21, is inferred from the date.
var mooncakeStore = Connector{
	Name: "mooncake_store", Doc: "Mooncake store: a pool of host memory and disks that servers share; buffer is each server's share of it. " +
		"Needs service mooncake_master.",
	Transports: []string{TCP, RDMA},
	Forms: []Form{
		{Engine: VLLM, From: "0.8", To: "0.8", Class: "MooncakeStoreConnector", Protocols: []string{"round_robin", "v0"},
			Services: []string{"mooncake_master"}, AsksMetadata: true, Buffer: true, Shared: true, Store: true, Library: transferEngineV0,
			Config: storeV0Config, Play: storePlay},
		{Engine: VLLM, From: "0.21", Class: "MooncakeStoreConnector", Protocols: []string{"round_robin", "v0"},
			Services: []string{"mooncake_master"}, Buffer: true, Shared: true, Store: true, Library: transferEngine,
			Config: storeConfig, Play: storePlay},
	},
}

// storeV0Config configures the store of vLLM 0.8's V0 engine.
func storeV0Config(w *Writer) {
	v0Engine(w)
	w.Top["kv_rank"] = int64(w.member.rank)
	w.Top["kv_parallel_size"] = int64(len(w.layout.members))
	fields := storeFields(w)
	fields["local_hostname"] = w.Host()
	maps.Copy(fields, w.layout.metadataServer(w.in))
	w.mooncakeFile(fields)
	hashSeed(w)
}

func storeConfig(w *Writer) {
	fields := storeFields(w)
	fields["mode"] = "embedded"
	fields["metadata_server"] = "P2PHANDSHAKE"
	w.mooncakeFile(fields)
	hashSeed(w)
}

func storeFields(w *Writer) map[string]any {
	return map[string]any{
		"master_server_address": w.in.address(w.layout.service("mooncake_master").spec.Name, PortHTTP),
		"global_segment_size":   w.buffer(4 << 30),
		"local_buffer_size":     int64(1 << 30),
		"protocol":              v0Protocol(w.part.spec),
		"device_name":           v0Devices(w),
	}
}

var storePlay = Play{
	Exchange: ByContent, Push: true,
	Resolve: func(p *Part) error {
		f, err := p.readMooncakeFile()
		if err != nil {
			return err
		}
		p.Peer, p.Devices, p.Claim, p.Transport = f.Master, DeviceList(f.DeviceName), f.Protocol, transferEngineChoice(p)
		if p.Peer == "" {
			return Refused{"KeyError: 'master_server_address' is missing in " + p.Env("MOONCAKE_CONFIG_PATH")}
		}
		return nil
	},
	Metrics: []Metric{
		{Name: "vllm:mooncake_store_operation_bytes_total", Help: "Bytes moved by operations of the Mooncake store.", Of: TransferredBytes},
	},
}
