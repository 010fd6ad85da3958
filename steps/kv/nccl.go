package kv

import (
	"fmt"
	"strings"
)

// nccl between two servers. Sources: NCCL 2.27's user guide, and transport/*.cc for what it
// writes with NCCL_DEBUG=INFO.
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
	hint:  "NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS=INIT,NET in the servers' env would",
	start: ncclStart,
}

// ncclNetwork keeps NCCL off NVLink and shared memory where a network is declared. The
// variables hold for all of a process, so a server of several GPUs, whose own traffic
// they would move as well, is left alone; the proof then says what was taken.
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

// ncclChoice is the path that NCCL takes between two GPUs of one machine, or of two.
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

// ncclStart writes the lines of NCCL_DEBUG=INFO when two ranks connect.
func ncclStart(p *Part, log Log) {
	if !p.On("NCCL_DEBUG") {
		return
	}
	rank, peer := 0, 1
	if p.Consumes {
		rank, peer = 1, 0
	}
	say := func(format string, args ...any) {
		log.Raw(fmt.Sprintf("sim:%d:%d [0] NCCL INFO ", log.PID(), log.PID()) + fmt.Sprintf(format, args...))
	}
	switch p.Transport {
	case RDMA:
		devices := p.deviceNames()
		say("NET/IB : Using [0]%s:1/RoCE [RO]; OOB eth0:127.0.0.1<0>", strings.Join(devices, ":1/RoCE [1]"))
		for i := range devices {
			say("Channel %02d/0 : %d[0] -> %d[0] [send] via NET/IB/%d/GDRDMA", i, rank, peer, i)
		}
	case NVLink:
		say("Channel 00/0 : %d[0] -> %d[1] via P2P/CUMEM", rank, peer)
	default:
		say("NET/Socket : Using [0]eth0:127.0.0.1<0>")
		say("Channel 00/0 : %d[0] -> %d[0] [send] via NET/Socket/0", rank, peer)
	}
}
