package engine

import (
	"context"
	"time"

	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/kv"
	"github.com/servegate/pipeline/steps/probe"
)

// These limits bound the kept log lines about transfers: those of the start, in which connections are made, and the
// last ones.
const (
	maxStartTraces = 1000
	maxTraces      = 4000
)

// trace is a log line about transfers.
type trace struct {
	at   time.Time
	line string
}

// traced keeps the lines about transfers. The caller must hold o.mu.
func (o *output) traced(line string) {
	if o.tells == nil || !o.tells(line) {
		return
	}
	if len(o.traces) >= maxTraces {
		o.traces = append(o.traces[:maxStartTraces], o.traces[maxStartTraces+(maxTraces-maxStartTraces)/2:]...)
	}
	o.traces = append(o.traces, trace{o.now(), line})
}

// evidence returns the kept lines, and the index of the first one since a time.
func (o *output) evidence(since time.Time) (lines []string, from int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, t := range o.traces {
		if t.at.Before(since) {
			from++
		}
		lines = append(lines, t.line)
	}
	return lines, from
}

// watchTransfer reads the network devices before and after the run, and determines how KV cache moved. It must come
// after watchServers in the list.
func (r *runner) watchTransfer(_ context.Context, s *server, w *watch) Watcher {
	if s.spec.Transfer == nil {
		return Watcher{}
	}
	nics := func() []probe.NIC { return nil }
	if r.o.NICs != nil {
		nics = r.o.NICs
	}
	var before, after []probe.NIC
	return Watcher{
		Before: func(context.Context) { before = nics() },
		After:  func(context.Context, time.Duration) { after = nics() },
		Tell: func(run *result.Run) {
			if run.Status != result.RunFailed && w.begun() { // a server that died cannot be queried
				run.Transport = r.prove(s, w, traffic(before, after))
			}
		},
	}
}

// prove determines how KV cache moved during a run. It returns nil if no request succeeded.
func (r *runner) prove(s *server, w *watch, nics []kv.NICEvidence) *result.Transport {
	e := *s.spec.Transfer
	e.Requests, e.PromptTokens = w.got.succeeded()
	if e.Requests == 0 {
		return nil
	}
	e.NICs = nics
	e.KVBytesPerToken = s.kvBytesPerToken()
	e.Members = nil
	for _, m := range s.servers() {
		e.Members = append(e.Members, w.evidenceOf(m))
	}
	p := kv.Prove(e)
	t := &result.Transport{Intent: e.Transfer.Transport, Status: result.TransportStatus(p.Status), Reason: r.o.Redact.String(p.Reason)}
	for _, line := range p.Evidence {
		t.Evidence = append(t.Evidence, r.o.Redact.String(line))
	}
	return t
}

// kvBytesPerToken returns the bytes of KV cache per token: the memory of a server's cache over its capacity in tokens,
// as logged at the start. It returns 0 if a server uses several GPUs, since its memory figure covers only one of them.
// If servers differ, it returns the least, since it is compared with the transferred bytes.
func (s *server) kvBytesPerToken() float64 {
	least := 0.0
	for _, m := range s.servers() {
		tokens, bytes := m.about.Figures[steps.StartKVTokens], m.about.Figures[steps.StartKVBytes]
		if tokens <= 0 || bytes <= 0 || m.Spec.GPUs > 1 {
			return 0
		}
		if per := bytes / tokens; least == 0 || per < least {
			least = per
		}
	}
	return least
}

// evidenceOf returns the evidence of one server during the run.
func (w *watch) evidenceOf(m *member) kv.MemberEvidence {
	e := kv.MemberEvidence{Name: m.Name, Role: m.Role, GPUs: m.Spec.GPUs, Describe: m.about.Describe}
	e.Log, e.RunFrom = m.output.evidence(w.began)
	for _, v := range w.views {
		if v.member != m {
			continue
		}
		if v.before != nil {
			e.Before = v.before.Counters
		}
		if v.after != nil {
			e.After = v.after.Counters
		}
	}
	return e
}

// traffic returns what each device transferred between two readings. It ignores interfaces without hardware, which
// forward the traffic of others. It includes the loopback, over which servers on one machine communicate.
func traffic(before, after []probe.NIC) []kv.NICEvidence {
	type key struct {
		name string
		port int
	}
	earlier := map[key]probe.NIC{}
	for _, nic := range before {
		earlier[key{nic.Name, nic.Port}] = nic
	}
	sums := map[string]*kv.NICEvidence{}
	var order []string
	for _, nic := range after {
		was, ok := earlier[key{nic.Name, nic.Port}]
		if !ok || nic.Rx < was.Rx || nic.Tx < was.Tx || !nic.Physical && !nic.RDMA && nic.Name != "lo" {
			continue
		}
		sum := sums[nic.Name]
		if sum == nil {
			sum = &kv.NICEvidence{Name: nic.Name, Kind: kv.NICEthernet}
			switch {
			case nic.RDMA:
				sum.Kind = kv.NICRDMA
			case nic.NVLink:
				sum.Kind = kv.NICNVLink
			}
			sums[nic.Name] = sum
			order = append(order, nic.Name)
		}
		sum.Rx += float64(nic.Rx - was.Rx)
		sum.Tx += float64(nic.Tx - was.Tx)
	}
	var out []kv.NICEvidence
	for _, name := range order {
		out = append(out, *sums[name])
	}
	return out
}
