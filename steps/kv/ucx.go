package kv

import (
	"fmt"
	"slices"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

// ucx is NIXL's default backend. Sources: UCX 1.18 (ucx_info -f); with UCX_LOG_LEVEL=info, ucp_ep.c prints the
// lanes of an endpoint. rma lanes carry the blocks; am and tag lanes carry control messages.
var ucx = &Library{
	settings: map[string][]setting{
		"":     {{"UCX_LOG_LEVEL", "info"}},                  // prints the lanes of each connection
		TCP:    {{"UCX_TLS", "tcp,cuda_copy,self"}},          // no sm, which would replace TCP on one machine
		RDMA:   {{"UCX_TLS", "rc,cuda_copy,self"}},           // no cuda_ipc, for the same reason
		NVLink: {{"UCX_TLS", "cuda_ipc,cuda_copy,tcp,self"}}, // TCP for control messages
	},
	network: ucxDevices,
	lines:   []Line{{Words: []string{"cfg#", "rma"}, Read: ucxLanes}},
	hint:    "UCX_LOG_LEVEL=info in the servers' env, or counters of the network devices, would",
	start:   ucxStart,
}

// ucxDevices sets the network devices in UCX's notation: RDMA devices with their port.
func ucxDevices(w *Writer) {
	spec := w.part.spec
	if len(spec.Devices) == 0 || spec.Transport == NVLink {
		return
	}
	names := make([]string, len(spec.Devices))
	for i, d := range spec.Devices {
		if spec.Transport != TCP && !strings.Contains(d, ":") {
			d += ":1"
		}
		names[i] = d
	}
	w.SetEnv("UCX_NET_DEVICES", strings.Join(names, ","))
}

var ucxGroup = lazyregexp.New(`\brma[a-z_]*\(([^)]*)\)`)

// ucxLanes parses "... inter-node cfg#2 rma(rc_mlx5/mlx5_0:1) am(tcp/eth0)".
func ucxLanes(line string) Signal {
	if strings.Contains(line, "self cfg#") {
		return Signal{} // connects to itself
	}
	lanes := map[string][]string{}
	for _, group := range ucxGroup.FindAllStringSubmatch(line, -1) {
		for lane := range strings.FieldsSeq(group[1]) {
			name, device, _ := strings.Cut(lane, "/")
			if t := ucxTransport(name); t != "" {
				lanes[t] = append(lanes[t], device)
			}
		}
	}
	// The fastest lane carries most data.
	for _, t := range []string{NVLink, RDMA, TCP, sharedMemory} {
		if devices, ok := lanes[t]; ok {
			s := Signal{Kind: Carried, Transport: t, Count: 1}
			for _, d := range devices {
				if d, _, _ = strings.Cut(d, ":"); t == RDMA && deviceName.MatchString(d) {
					s.Devices = append(s.Devices, d)
				}
			}
			return s
		}
	}
	return Signal{}
}

// ucxTransport maps a UCX transport to ours. Copies between host and GPU of one machine (cuda_copy, gdr_copy)
// are part of every path and map to "".
func ucxTransport(name string) string {
	switch {
	case strings.HasPrefix(name, "rc_"), strings.HasPrefix(name, "dc_"), strings.HasPrefix(name, "ud_"), name == "srd":
		return RDMA
	case strings.HasPrefix(name, "cuda_ipc"):
		return NVLink
	case name == "tcp":
		return TCP
	case slices.Contains([]string{"sysv", "posix", "cma", "knem", "xpmem"}, name):
		return sharedMemory
	}
	return ""
}

// ucxChoice returns the transport and devices that follow from UCX_TLS and UCX_NET_DEVICES.
func ucxChoice(p *Part) (transport string, devices []string) {
	tls := strings.Split(strings.ToLower(p.Env("UCX_TLS")), ",")
	if d := p.Env("UCX_NET_DEVICES"); d != "all" {
		devices = DeviceList(d)
	}
	has := func(names ...string) bool {
		return slices.ContainsFunc(tls, func(t string) bool { return slices.Contains(names, strings.TrimSpace(t)) })
	}
	switch {
	case p.Env("UCX_TLS") == "" || has("all", "rc", "rc_x", "rc_mlx5", "rc_v", "ud", "dc", "dc_x", "ib"):
		return RDMA, devices
	case has("cuda_ipc"):
		return NVLink, nil
	}
	return TCP, devices
}

// ucxStart writes the lanes in UCX's log format.
func ucxStart(p *Part, log Log) {
	lane := "tcp/eth0"
	switch p.Transport {
	case RDMA:
		var lanes []string
		for _, d := range p.deviceNames() {
			if !strings.Contains(d, ":") {
				d += ":1"
			}
			lanes = append(lanes, "rc_mlx5/"+d)
		}
		lane = strings.Join(lanes, " ")
	case NVLink:
		lane = "cuda_ipc/cuda"
	}
	now := log.Now()
	log.Raw(fmt.Sprintf("[%d.%06d] [sim:%d:0] ucp_context.c:2339 UCX  INFO  ucp_context_0 inter-node cfg#2 rma(%s) am(%s)", now.Unix(),
		now.Nanosecond()/1000, log.PID(), lane, lane))
}
