package kv_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kv"
	"pgregory.net/rapid"
)

// Lines of the programs' own, as in their sources.
const (
	logEcho = "(EngineCore pid=9) INFO 08-09 06:00:55 [mooncake_connector.py:1208] The Mooncake Transfer Engine is using rdma as its " +
		"protocol."
	logHCAs      = "I20260809 06:00:55.100000   914 transfer_engine_impl.cpp:110] Topology discovery complete. Found 2 HCAs."
	logRDMA      = "I20260809 06:00:55.200000   914 multi_transport.cpp:180] installTransport, type=rdma"
	logDevice    = "I20260809 06:00:55.300000   914 rdma_context.cpp:125] RDMA device: mlx5_0, LID: 0, GID: (GID_Index 3) 00:00:00:00"
	logNoHCAs    = "I20260809 06:00:55.100000   914 transfer_engine_impl.cpp:110] Topology discovery complete. Found 0 HCAs."
	logNoDevices = "W20260809 06:00:55.100000   914 topology.cpp:68] No RDMA devices found, check your device installation"
	logTCP       = "I20260809 06:00:55.200000   914 tcp_transport.cpp:299] TcpTransport: listen on port 15428"
	logForced    = "I20260809 06:00:55.200000   914 transfer_engine_impl.cpp:118] MC_FORCE_TCP is set, using TCP transport only"
	logStats     = "I20260809 06:01:00.200000   914 transfer_engine_impl.cpp:530] [Metrics] Transfer Engine Stats (over last 5s): " +
		"Throughput: 812.50 MB/s | Latency Distribution (count=7)"
	logUCXTCP  = "[1786600000.123456] [host:914  :0]   ucp_context.c:2339 UCX  INFO  ucp_context_0 intra-node cfg#2 rma_am(tcp/eth1)"
	logUCXRDMA = "[1786600000.123456] [host:914  :0]   ucp_context.c:2339 UCX  INFO  ucp_context_0 inter-node cfg#2 rma(rc_mlx5/mlx5_0:1 " +
		"rc_mlx5/mlx5_1:1) am(tcp/eth0)"
	logUCXIPC = "[1786600000.123456] [host:914  :0]   ucp_context.c:2339 UCX  INFO  ucp_context_0 intra-node cfg#3 rma(cuda_ipc/cuda " +
		"tcp/lo) am(tcp/lo)"
	logUCXSelf = "[1786600000.123456] [host:914  :0]   ucp_context.c:2339 UCX  INFO  ucp_context_0 self cfg#0 rma(self/memory cma/memory)"
	logNCCLIB  = "host:914:914 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA"
	logNCCLTCP = "host:914:914 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/Socket/0"
	logNCCLP2P = "host:914:914 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM"
	logRedo    = "WARNING 11-21 10:00:00 simple_connector.py:301] [rank0]: Failed to receive all KVs and hidden states, redo model " +
		"forwarding."
	logReceived = "DEBUG 11-21 10:00:00 simple_connector.py:309] [rank0]: Successfully received all KVs and hidden states, skip model " +
		"forwarding."
	logTransfers = "(APIServer pid=7) INFO 08-09 06:01:05 [metrics.py:103] KV Transfer metrics: Num successful transfers=4, Avg xfer time " +
		"(ms)=1.381, Throughput (MB/s)=1629.549, Num failed transfers=0"
)

// evidence has setters, so a row of a table can change one fact of a run.
type evidence kv.Evidence

// run returns the evidence of a run in which so many tokens arrived, with the logs of its servers.
func run(connector, transport string, tokens, hits float64, prefill, decode []string) evidence {
	return evidence{
		Transfer: transfer(connector, transport), Engine: "vllm", Version: "0.33.0", Requests: 100, PromptTokens: tokens,
		Members: []kv.MemberEvidence{
			{Name: "prefill", Role: steps.RoleProducer, GPUs: 1, Log: prefill, Before: map[string]float64{}, After: map[string]float64{}},
			{Name: "decode", Role: steps.RoleConsumer, GPUs: 1, Log: decode, Before: map[string]float64{
				metric.CounterExternalHits: 5000, metric.CounterTransferFailures: 1, metric.CounterPrefixHits: 10,
			}, After: map[string]float64{
				metric.CounterExternalHits: 5000 + hits, metric.CounterTransferFailures: 1, metric.CounterPrefixHits: 10,
			}},
		},
	}
}

// with changes a run of a table.
func (e evidence) with(change func(*evidence)) evidence {
	change(&e)
	return e
}

// counters replaces what a member counts.
func (e evidence) counters(member int, before, after map[string]float64) evidence {
	e.Members = slices.Clone(e.Members)
	e.Members[member].Before, e.Members[member].After = before, after
	return e
}

// silent has no counters, as engines before their metrics.
func (e evidence) silent() evidence {
	return e.counters(1, map[string]float64{"vllm:prompt_tokens_total": 1}, map[string]float64{"vllm:prompt_tokens_total": 9})
}

func lines(l ...string) []string { return l }

func TestProve(t *testing.T) {
	const tokens = 100 * 1024
	rdma := lines(logEcho, logHCAs, logRDMA, logDevice)
	fallback := lines(logEcho, logNoHCAs, logNoDevices, logTCP)
	gigabytes := func(e *evidence, nics ...kv.NICEvidence) { e.KVBytesPerToken, e.NICs = 1e5, nics }
	sglangRun := func(before, after float64) evidence {
		return run("mooncake", kv.TCP, tokens, 0, lines(logForced, logTCP), lines(logForced, logTCP)).
			counters(0, map[string]float64{metric.CounterTransferBytes: before}, map[string]float64{metric.CounterTransferBytes: after}).
			counters(1, nil, nil).with(func(e *evidence) { e.Engine = "sglang" })
	}

	for name, tt := range map[string]struct {
		in           evidence
		want, reason string
	}{
		// Honest runs.
		"mooncake rdma": {run("mooncake", kv.RDMA, tokens, tokens, rdma, rdma), kv.Proved,
			"100 % of the prompt tokens reached decode as KV, over RDMA"},
		"mooncake tcp": {run("mooncake", kv.TCP, tokens, tokens, lines(logForced, logTCP), lines(logForced, logTCP)), kv.Proved,
			"100 % of the prompt tokens reached decode as KV, over TCP"},
		"blocks only": {run("nixl", kv.TCP, tokens, tokens-100*16, nil, lines(logUCXTCP)), kv.Proved,
			"98.4 % of the prompt tokens reached decode as KV, over TCP"},
		"cached on decode": {run("nixl", kv.TCP, tokens, tokens/2, nil, lines(logUCXTCP)).
			counters(1, map[string]float64{}, map[string]float64{metric.CounterExternalHits: tokens / 2, metric.CounterPrefixHits: tokens / 2}),
			kv.Proved, "100 % of the prompt tokens reached decode as KV, over TCP"},
		"nixl rdma": {run("nixl", kv.RDMA, tokens, tokens, lines(logUCXSelf, logUCXRDMA), lines(logUCXSelf, logUCXRDMA)), kv.Proved,
			"100 % of the prompt tokens reached decode as KV, over RDMA"},
		"nixl nvlink": {run("nixl", kv.NVLink, tokens, tokens, nil, lines(logUCXIPC)), kv.Proved,
			"100 % of the prompt tokens reached decode as KV, over NVLink"},
		"nccl": {run("p2p_nccl", kv.NCCL, tokens, tokens, lines(logNCCLTCP), nil), kv.Proved,
			"100 % of the prompt tokens reached decode as KV, over NCCL by TCP"},
		"nccl rdma": {run("p2p_nccl", kv.RDMA, tokens, tokens, lines(logNCCLIB), lines(logNCCLIB)), kv.Proved,
			"100 % of the prompt tokens reached decode as KV, over RDMA"},
		"nccl beside tp": {run("p2p_nccl", kv.RDMA, tokens, tokens, lines(logNCCLP2P, logNCCLIB),
			nil).with(func(e *evidence) { e.Members = slices.Clone(e.Members); e.Members[0].GPUs = 2 }), kv.Proved,
			"100 % of the prompt tokens reached decode as KV, over RDMA"},
		"nothing declared": {run("nixl", "", tokens, tokens, nil, lines(logUCXTCP)), kv.Proved,
			"100 % of the prompt tokens reached decode as KV, over TCP"},
		"nothing said": {run("nixl", "", tokens, tokens, nil, nil), kv.Proved, "100 % of the prompt tokens reached decode as KV"},
		"files": {run("example", "", tokens, tokens-100*16, nil, nil), kv.Proved,
			"98.4 % of the prompt tokens reached decode as KV, through files in a shared folder"},
		"blocks of 128": {run("example", "", tokens, tokens/2, nil, nil).with(func(e *evidence) {
			e.PromptTokens, e.Requests = tokens*5/8, 1+tokens/1024 // prompts of 640 tokens, of which 512 move
			e.Members[1].Describe = map[string]string{"server_info.vllm_config.cache_config.block_size": "128"}
		}), kv.Proved, "80 % of the prompt tokens reached decode as KV, through files in a shared folder"},
		"v0, by its log": {run("mooncake", kv.RDMA, tokens, 0, append(rdma, logStats), rdma).silent(), kv.Proved,
			"the servers' logs show transfers during the run, over RDMA"},
		"v0, by its debug log": {run("pynccl", kv.NCCL, tokens, 0, lines(logNCCLIB), slices.Repeat(lines(logReceived), 100)).silent(), kv.Proved,
			"the servers' logs show transfers during the run, over NCCL by RDMA"},
		"v0, one of many": {run("pynccl", kv.NCCL, tokens, 0, lines(logNCCLIB), append(slices.Repeat(lines(logReceived), 99),
			logRedo)).silent(), kv.Proved, "the servers' logs show transfers during the run, over NCCL by RDMA"},
		"vllm, by its log": {run("nixl", kv.TCP, tokens, 0, nil, lines(logUCXTCP, logTransfers)).silent(), kv.Proved,
			"the servers' logs show transfers during the run, over TCP"},
		"sglang": {sglangRun(1e9, 3e9), kv.Proved, "2 GB of KV moved, over TCP"},
		"failed and retold": {run("nixl", kv.TCP, tokens, tokens, nil, lines("x NIXL transfer failure: y", logUCXTCP)), kv.Proved,
			"100 % of the prompt tokens reached decode as KV, over TCP"},
		"by devices": {run("nixl", kv.RDMA, tokens, tokens, nil,
			nil).with(func(e *evidence) { gigabytes(e, kv.NICEvidence{"mlx5_0", kv.NICRDMA, 1e5, 1.1e10}) }), kv.Proved,
			"100 % of the prompt tokens reached decode as KV, over RDMA"},
		"by devices alone": {run("pynccl", kv.TCP, tokens, 0, nil,
			nil).silent().with(func(e *evidence) { gigabytes(e, kv.NICEvidence{"lo", kv.NICEthernet, 1.1e10, 1.1e10}) }),
			kv.Proved, "the devices carried as much as the prompts' KV, over TCP"},
		"roce counts on both": {run("nixl", kv.RDMA, tokens, tokens, nil, nil).with(func(e *evidence) {
			gigabytes(e, kv.NICEvidence{"mlx5_0", kv.NICRDMA, 0, 1.1e10}, kv.NICEvidence{"eth0", kv.NICEthernet, 0, 1.1e10})
		}), kv.Proved, "100 % of the prompt tokens reached decode as KV, over RDMA"},
		"declared device": {run("mooncake", kv.RDMA, tokens, tokens, rdma,
			rdma).with(func(e *evidence) { e.Transfer.Devices = []string{"mlx5_0:1"} }), kv.Proved,
			"100 % of the prompt tokens reached decode as KV, over RDMA"},
		"store": {run("mooncake_store", kv.TCP, tokens, 5000, lines(logTCP), nil).with(both), kv.Proved,
			"5000 prompt tokens came out of the shared store, over TCP"},

		// Lies.
		"fallback that claims": {run("mooncake", kv.RDMA, tokens, tokens, fallback, fallback), kv.Contradicted,
			"declared RDMA, but KV went over TCP: prefill: I20260809 06:00:55.200000 914 tcp_transport.cpp:299] TcpTransport: listen on port 15428"},
		"fallback on one side": {run("mooncake", kv.RDMA, tokens, tokens, rdma, fallback), kv.Contradicted,
			"declared RDMA, but KV went over TCP: decode: "},
		"no device, no more": {run("mooncake", kv.RDMA, tokens, tokens, lines(logEcho, logNoHCAs), nil), kv.Contradicted,
			"declared RDMA, which a server does not have: prefill: "},
		"ucx over tcp": {run("nixl", kv.RDMA, tokens, tokens, nil, lines(logUCXTCP)), kv.Contradicted,
			"declared RDMA, but KV went over TCP: decode: "},
		"rdma where tcp": {run("nixl", kv.TCP, tokens, tokens, nil, lines(logUCXRDMA)), kv.Contradicted,
			"declared TCP, but KV went over RDMA: decode: "},
		"nccl over sockets": {run("p2p_nccl", kv.RDMA, tokens, tokens, lines(logNCCLTCP), lines(logNCCLTCP)), kv.Contradicted,
			"declared RDMA, but KV went over TCP: prefill: "},
		"nvlink over sockets": {run("p2p_nccl", kv.NVLink, tokens, tokens, lines(logNCCLTCP), nil), kv.Contradicted,
			"declared NVLink, but KV went over TCP: prefill: "},
		"network by NVLink": {run("p2p_nccl", kv.TCP, tokens, tokens, lines(logNCCLP2P), nil), kv.Contradicted,
			"declared TCP, but KV went over NVLink: prefill: "},
		"other device": {run("mooncake", kv.RDMA, tokens, tokens, rdma,
			rdma).with(func(e *evidence) { e.Transfer.Devices = []string{"mlx5_7"} }), kv.Contradicted,
			"declared RDMA over mlx5_7, but it went over mlx5_0"},
		"devices say tcp": {run("nixl", kv.RDMA, tokens, tokens, nil, nil).with(func(e *evidence) {
			gigabytes(e, kv.NICEvidence{"mlx5_0", kv.NICRDMA, 0, 1e6}, kv.NICEvidence{"eth0", kv.NICEthernet, 1.1e10, 0})
		}), kv.Contradicted, "declared RDMA, but KV went over TCP: network interfaces carried 11 GB, the KV is 10.2 GB"},
		"recompute": {run("mooncake", kv.RDMA, tokens, 0, rdma, rdma), kv.Contradicted,
			"decode prefilled again by itself: of 102400 prompt tokens 0 arrived as KV"},
		"recompute, undeclared": {run("nixl", "", tokens, 0, nil, nil), kv.Contradicted,
			"decode prefilled again by itself: of 102400 prompt tokens 0 arrived as KV"},
		"recompute of a part": {run("nixl", kv.TCP, tokens, tokens*0.6, nil, lines(logUCXTCP)), kv.Contradicted,
			"decode prefilled a part again by itself: only 60 % of the prompt tokens arrived as KV"},
		"recompute in files": {run("example", "", tokens, 0, nil, nil), kv.Contradicted,
			"decode prefilled again by itself: of 102400 prompt tokens 0 arrived as KV"},
		"recompute, v0": {run("mooncake", kv.RDMA, tokens, 0, rdma, append(rdma, logRedo, logRedo)).silent(), kv.Contradicted,
			"decode prefilled again by itself: its log says so 2 times"},
		"recompute, v0 in part": {run("pynccl", kv.NCCL, tokens, 0, lines(logNCCLIB), append(slices.Repeat(lines(logReceived), 50), logRedo,
			logRedo)).silent(), kv.Contradicted, "decode prefilled again by itself: its log says so 2 times"},
		"recompute, sglang": {sglangRun(0, 0), kv.Contradicted, "decode prefilled again by itself: the servers count no transfer at all"},
		"recompute, bytes": {sglangRun(7, 7).with(func(e *evidence) { e.Engine = "vllm" }), kv.Contradicted,
			"decode prefilled again by itself: the servers count no transfer during the run"},
		"few bytes, the rest cached": {sglangRun(0, 1e8).with(func(e *evidence) { e.KVBytesPerToken = 1e5 }).
			counters(1, map[string]float64{metric.CounterPrefixHits: 0}, map[string]float64{metric.CounterPrefixHits: 0.95 * tokens}), kv.Proved,
			"100 MB of KV moved, over TCP"},
		"recompute, few bytes": {sglangRun(0, 1e6).with(func(e *evidence) { e.KVBytesPerToken = 1e5 }), kv.Contradicted,
			"decode prefilled most prompts again by itself: 1 MB moved, the prompts' KV is 10.2 GB"},
		"failures without hits": {sglangRun(0, 1e9).with(func(e *evidence) {
			e.Members[0].Log = lines(logTCP,
				"KVTransferError(bootstrap_room=1): x")
		}), kv.Contradicted, "1 transfers failed, and nothing shows that decode did not prefill those prompts by itself"},
		"failures in a log only": {run("mooncake", kv.TCP, tokens, 0, lines(logTCP),
			lines("pulling kv_caches for ['a'] failed: timeout")).silent(), kv.Contradicted,
			"1 transfers failed, and nothing shows that decode did not prefill those prompts by itself"},

		// Not enough to decide.
		"only an echo": {run("mooncake", kv.RDMA, tokens, tokens, lines(logEcho), lines(logEcho)), kv.Unproven,
			"nothing shows that RDMA carried it; Mooncake's start-up lines in the servers' logs, or counters of the network devices, would"},
		"silent libraries": {run("nixl", kv.RDMA, tokens, tokens, nil, nil), kv.Unproven,
			"nothing shows that RDMA carried it; UCX_LOG_LEVEL=info in the servers' env, or counters of the network devices, would"},
		"silent nccl": {run("p2p_nccl", kv.NCCL, tokens, tokens, nil, nil), kv.Unproven, "nothing shows that NCCL carried it; NCCL_DEBUG=INFO"},
		"old and silent": {run("pynccl", kv.TCP, tokens, 0, lines(logNCCLTCP), nil).silent().with(func(e *evidence) { e.Version = "0.6.4" }),
			kv.Unproven, "nothing reports whether KV caches moved: this version has no counters of transfers; VLLM_LOGGING_LEVEL=DEBUG"},
		"no metrics": {run("pynccl", kv.TCP, tokens, 0, lines(logNCCLTCP), nil).counters(1, nil, nil), kv.Unproven,
			"nothing reports whether KV caches moved: the servers' metrics could not be read"},
		"short prompts":     {run("nixl", kv.TCP, 100*10, 0, nil, lines(logUCXTCP)), kv.Unproven, "the prompts were too short"},
		"gauge stood still": {sglangRun(7, 7), kv.Unproven, "nothing reports whether KV caches moved"},
		"store without hits": {run("mooncake_store", kv.TCP, tokens, 0, lines(logTCP), nil).with(both), kv.Unproven,
			"no prompt token came out of the shared store, which is right only if no prefix of the workload repeats"},
		"simulated devices": {run("nixl", kv.RDMA, tokens, tokens, nil, nil).with(func(e *evidence) {
			e.Simulated = true
			gigabytes(e, kv.NICEvidence{"lo", kv.NICEthernet, 1.1e10, 0})
		}), kv.Unproven, "nothing shows that RDMA carried it"},
		"earlier runs": {run("mooncake", kv.RDMA, tokens, 0, append(rdma, logStats), append(rdma, logRedo)).silent().with(func(e *evidence) {
			for i := range e.Members {
				e.Members[i].RunFrom = len(e.Members[i].Log)
			}
		}), kv.Unproven, "nothing reports whether KV caches moved"},
	} {
		t.Run(name, func(t *testing.T) {
			got := kv.Prove(kv.Evidence(tt.in))
			if got.Status != tt.want || !strings.HasPrefix(got.Reason, tt.reason) || tt.want == kv.Proved && got.Reason != tt.reason {
				t.Errorf("%s: %s\nwant %s: %s\nevidence:\n  %s", got.Status, got.Reason, tt.want, tt.reason, strings.Join(got.Evidence, "\n  "))
			}
		})
	}
}

// both makes the servers of a run whole ones.
func both(e *evidence) {
	e.Members = slices.Clone(e.Members)
	for i := range e.Members {
		e.Members[i].Role = steps.RoleBoth
	}
}

// The echo of a configuration is shown as such.
func TestEchoIsNoEvidence(t *testing.T) {
	p := kv.Prove(kv.Evidence(run("mooncake", kv.RDMA, 1e5, 1e5, []string{logEcho}, nil)))
	if !slices.ContainsFunc(p.Evidence, func(e string) bool {
		return strings.HasPrefix(e, "log, an echo of the configuration and no proof: prefill:")
	}) {
		t.Errorf("%q", p.Evidence)
	}
}

// A counter that fell began anew with its server.
func TestRestartedCounter(t *testing.T) {
	e := run("nixl", "", 1e5, 0, nil, nil).counters(1, map[string]float64{metric.CounterExternalHits: 9e9},
		map[string]float64{metric.CounterExternalHits: 1e5})
	if p := kv.Prove(kv.Evidence(e)); p.Status != kv.Proved {
		t.Errorf("%+v", p)
	}
}

// UCX names the lanes of a connection in one line, of which the fastest carries KV.
func TestUCXLanes(t *testing.T) {
	const other = "another transport"
	for line, want := range map[string]string{
		logUCXTCP: kv.TCP, logUCXRDMA: kv.RDMA, logUCXIPC: kv.NVLink, logUCXSelf: "",
		"x intra-node cfg#1 tag(tcp/eth0) rma(rc_mlx5/mlx5_0:1)": kv.RDMA,
		"x intra-node cfg#1 tag(tcp/eth0) am(tcp/eth0)":          "",
		"x intra-node cfg#1 rma(cma/memory sysv/memory)":         other,
		"x intra-node cfg#1 rma(cuda_copy/cuda)":                 "",
		"x intra-node cfg#1 rma(":                                "",
	} {
		for _, declared := range []string{kv.TCP, kv.RDMA, kv.NVLink} {
			p := kv.Prove(kv.Evidence(run("nixl", declared, 1e5, 1e5, nil, lines(line))))
			status := kv.Contradicted
			switch want {
			case "":
				status = kv.Unproven
			case declared:
				status = kv.Proved
			}
			if p.Status != status || want == other && !strings.Contains(p.Reason, "KV went over shared memory") {
				t.Errorf("%s: %s is %s: %s; want %s", line, declared, p.Status, p.Reason, status)
			}
		}
	}
	for status, devices := range map[string][]string{kv.Proved: {"mlx5_0", "mlx5_1"}, kv.Contradicted: {"mlx5_0"}} {
		e := run("nixl", kv.RDMA, 1e5, 1e5, nil, lines(logUCXRDMA))
		e.Transfer.Devices = devices
		if p := kv.Prove(kv.Evidence(e)); p.Status != status {
			t.Errorf("over %q: %+v", devices, p)
		}
	}
}

// honestRun draws a run of which everything that is known is true: KV moved but for
// what stays behind of each prompt, over the declared transport.
func honestRun(t *rapid.T) evidence {
	said := map[string]map[string]string{
		"nixl":     {kv.TCP: logUCXTCP, kv.RDMA: logUCXRDMA, kv.NVLink: logUCXIPC},
		"mooncake": {kv.TCP: logTCP, kv.RDMA: logRDMA},
		"p2p_nccl": {kv.TCP: logNCCLTCP, kv.RDMA: logNCCLIB, kv.NVLink: logNCCLP2P},
	}
	connector := rapid.SampledFrom(slices.Sorted(maps.Keys(said))).Draw(t, "connector")
	transport := rapid.SampledFrom(slices.Sorted(maps.Keys(said[connector]))).Draw(t, "transport")
	requests := rapid.IntRange(1, 500).Draw(t, "requests")
	tokens, hits := 0.0, 0.0
	for range requests {
		n := rapid.IntRange(1, 4000).Draw(t, "prompt")
		tokens, hits = tokens+float64(n), hits+float64(16*((n-1)/16))
	}
	e := run(connector, transport, tokens, hits, nil, nil)
	e.Requests = requests
	for i := range e.Members {
		if rapid.Bool().Draw(t, "speaks") {
			e.Members[i].Log = lines(logEcho, said[connector][transport])
		}
	}
	if rapid.Bool().Draw(t, "silent") {
		e = e.silent()
	}
	return e
}

func TestHonestRunsAreNotAccused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if p := kv.Prove(kv.Evidence(honestRun(t))); p.Status == kv.Contradicted {
			t.Fatalf("accused: %s", p.Reason)
		}
	})
}

// Nothing that a log says can break the reader or get into a report as it is.
func FuzzProve(f *testing.F) {
	for _, line := range []string{
		logEcho, logHCAs, logRDMA, logDevice, logNoHCAs, logNoDevices, logTCP, logForced, logStats, logUCXTCP, logUCXRDMA, logUCXIPC,
		logUCXSelf, logNCCLIB, logNCCLTCP, logNCCLP2P, logRedo, logTransfers, "RDMA device: \x1b[31m;rm -rf, LID",
		"Num successful transfers=NaN KV Transfer metrics:", "Inject KV cache of 1e999 tokens",
	} {
		f.Add(line, 100.0)
		f.Add(line+strings.Repeat(" and more", 1000), 100.0)
	}
	f.Fuzz(func(t *testing.T, log string, count float64) {
		e := run("mooncake", kv.RDMA, count, count, strings.Split(log, "\n"), []string{log})
		e.Members[1].After["vllm:nixl_bytes_transferred_sum"] = count
		p := kv.Prove(kv.Evidence(e))
		if p.Reason == "" || p.Status != kv.Proved && p.Status != kv.Contradicted && p.Status != kv.Unproven {
			t.Fatalf("%+v", p)
		}
		for _, text := range append(p.Evidence, p.Reason) {
			if !utf8.ValidString(text) || strings.ContainsAny(text, "\n\r\x1b\x00") || len(text) > 960 {
				t.Fatalf("%q", text)
			}
		}
	})
}
