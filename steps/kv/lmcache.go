package kv

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"

	"github.com/servegate/pipeline/steps"
	"go.yaml.in/yaml/v3"
)

// lmcache sends from a prefill to a decode server, or stores KV for whole servers.
var lmcache = Connector{
	Name: "lmcache", Doc: "LMCache: vLLM's LMCacheConnectorV1. Between a prefill and a decode server it uses NIXL; what config has is " +
		"written into LMCache's own file.",
	Transports: []string{TCP, RDMA, NVLink}, Chunk: 255,
	Forms: []Form{
		{Engine: VLLM, From: "0.8.5", Class: "LMCacheConnectorV1", Protocols: []string{"nixl", "v0", "round_robin"}, Buffer: true, Pair: true,
			Shared: true, ConsumersFirst: true, NoParams: true, Library: ucx, Config: lmcacheConfig,
			OwnFile: func(setting string) bool { return !lmcacheExtra(setting) },
			Ports: func(m *Member) ([]PortNeed, error) {
				if m.role != steps.RoleConsumer {
					return nil, nil
				}
				return one(m.Need(PortKV, m.tensor, 0, ""))
			},
			Play: lmcachePlay,
		},
		{Engine: VLLM, From: "0.7", To: "0.10", Class: "LMCacheConnector", Unlisted: true, Library: ucx, Play: lmcachePlay},
		{Engine: VLLM, From: "0.11", Class: "LMCacheMPConnector", Unlisted: true, Library: ucx, Play: Play{
			Exchange: ByContent, Push: true,
			Resolve: func(p *Part) error {
				host := strings.TrimPrefix(cmp.Or(p.extra("lmcache.mp.host"), "localhost"), "tcp://")
				p.Peer, p.Transport = net.JoinHostPort(host, cmp.Or(p.extra("lmcache.mp.port"), "5555")), TCP
				return nil
			},
		}},
	},
}

// lmcacheExtra reports whether vLLM passes the setting to LMCache; all others go into LMCache's own file.
func lmcacheExtra(name string) bool {
	return strings.HasPrefix(name, "lmcache.") || slices.Contains(append(lifted, "discard_partial_chunks", "lmcache_rpc_port"), name)
}

func lmcacheConfig(w *Writer) {
	settings := map[string]any{}
	if w.member.role != steps.RoleBoth {
		w.Extra["discard_partial_chunks"] = false
		w.Extra["lmcache_rpc_port"] = fmt.Sprintf("%s%d", w.member.role, w.member.rank)
		lmcachePair(w, settings)
	}
	for name, v := range w.part.spec.Config {
		if !lmcacheExtra(name) {
			settings[name] = v
		}
	}
	if len(settings) > 0 {
		content, err := yaml.Marshal(settings)
		w.err = cmp.Or(w.err, err)
		w.file("lmcache.yaml", "LMCACHE_CONFIG_FILE", content)
	}
	hashSeed(w)
	w.SetEnv("VLLM_WORKER_MULTIPROC_METHOD", "spawn")
}

// lmcachePair configures LMCache over NIXL: the decode server listens, the prefill server sends.
func lmcachePair(w *Writer, settings map[string]any) {
	role := "sender"
	if w.member.role == steps.RoleConsumer {
		role = "receiver"
	}
	receiver := w.peer(steps.RoleConsumer).Name
	maps.Copy(settings, map[string]any{
		"local_cpu": false, "max_local_cpu_size": 0, "max_local_disk_size": 0,
		"enable_nixl": true, "nixl_role": role,
		"nixl_peer_host": w.in.host(receiver), "nixl_peer_port": value(w.in.at(receiver, PortKV)),
		"nixl_buffer_size": w.buffer(1 << 30), "nixl_buffer_device": "cuda", "nixl_enable_gc": true,
	})
}

var lmcachePlay = Play{
	Exchange: ByContent, Push: true,
	Resolve: func(p *Part) error {
		path, content, err := p.readFile("LMCACHE_CONFIG_FILE")
		if err != nil || path == "" {
			p.Exchange = NoExchange // LMCache keeps KV in this server's memory; nothing moves
			return err
		}
		var y map[string]any
		if err := yaml.Unmarshal(content, &y); err != nil {
			return Refused{fmt.Sprintf("yaml.scanner.ScannerError: %v (%s)", err, path)}
		}
		role, host := firstOf(y, "nixl_role", "pd_role"), firstOf(y, "nixl_peer_host", "nixl_receiver_host", "pd_peer_host")
		port := firstOf(y, "nixl_peer_port", "nixl_receiver_port", "pd_peer_init_port", "pd_peer_port")
		p.Transport, p.Devices = ucxChoice(p)
		switch {
		case role == "":
			p.Exchange = NoExchange
			return nil
		case port == "":
			return Refused{fmt.Sprintf("ValueError: %s names the role %s but no port of the peer", path, role)}
		}
		switch role {
		case "sender":
			p.Peer, p.Produces, p.Consumes = net.JoinHostPort(cmp.Or(host, "localhost"), port), true, false
		case "receiver":
			p.Produces, p.Consumes = false, true
		default:
			return Refused{fmt.Sprintf("ValueError: Invalid role: %s, expected sender or receiver", role)}
		}
		return nil
	},
}

// firstOf returns the first of the settings that is present; of a list, its first element.
func firstOf(settings map[string]any, keys ...string) string {
	for _, k := range keys {
		v := settings[k]
		if list, ok := v.([]any); ok && len(list) > 0 {
			v = list[0]
		}
		if t := text(v); t != "" {
			return t
		}
	}
	return ""
}
