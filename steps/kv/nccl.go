package kv

import "strings"

// nccl moves KV between two servers. Sources: NCCL 2.27's user guide, and transport/*.cc for its output with
// NCCL_DEBUG=INFO.
var nccl = &Library{
	settings: map[string][]setting{
		"":     {{"NCCL_DEBUG", "INFO"}, {"NCCL_DEBUG_SUBSYS", "INIT,NET"}},
		TCP:    {{"NCCL_IB_DISABLE", "1"}},
		NVLink: {{"NCCL_P2P_LEVEL", "NVL"}},
	},
	network: ncclNetwork,
	lines: []Line{
		{Words: []string{"NCCL INFO", "via NET/IB"}, Says: Signal{Kind: Carried, Transport: RDMA}},
		{Words: []string{"NCCL INFO", "via NET/Socket"}, Says: Signal{Kind: Carried, Transport: TCP}},
		{Words: []string{"NCCL INFO", "via P2P/"}, Says: Signal{Kind: Carried, Transport: NVLink}, Local: true},
		{Words: []string{"NCCL INFO", "via SHM"}, Says: Signal{Kind: Carried, Transport: sharedMemory}, Local: true},
		{Words: []string{"NCCL INFO", "NET/IB : No device found"}, Says: Signal{Kind: Excluded, Transport: RDMA}},
	},
	hint: "NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=INIT,NET in the servers' env would",
}

// ncclNetwork keeps NCCL off NVLink and shared memory if a network is declared. The variables apply to the
// whole process, so they would also move the traffic between a server's own GPUs. A server of several GPUs is
// therefore left alone; the proof reports the transport used.
func ncclNetwork(w *Writer) {
	t := w.part.spec.Transport
	if (t == TCP || t == RDMA) && w.Ranks() == 1 {
		w.SetEnv("NCCL_P2P_DISABLE", "1")
		w.SetEnv("NCCL_SHM_DISABLE", "1")
	}
	switch {
	case w.Devices() == "":
	case t == TCP:
		w.SetEnv("NCCL_SOCKET_IFNAME", w.Devices())
	case t != NVLink:
		w.SetEnv("NCCL_IB_HCA", w.Devices())
	}
}

// ncclChoice returns the path that NCCL takes between two GPUs.
func ncclChoice(p *Part) (transport string, devices []string) {
	devices = DeviceList(strings.TrimLeft(p.Env("NCCL_IB_HCA"), "=^"))
	switch noPeer, noIB := p.On("NCCL_P2P_DISABLE"), p.On("NCCL_IB_DISABLE"); {
	case noIB && noPeer:
		return TCP, nil
	case noPeer || len(devices) > 0 && !noIB:
		return RDMA, devices
	}
	return NVLink, nil
}
