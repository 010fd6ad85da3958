package kv

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/gates/metric"
	"github.com/servegate/pipeline/steps"
)

// Proof states how KV caches moved during a run.
type Proof struct {
	// Status is Proved, Contradicted or Unproven.
	Status string
	// Reason in one sentence.
	Reason string
	// Evidence lists the observations, each with its source.
	Evidence []string
}

// The outcomes of a proof.
const (
	Proved       = "proved"
	Contradicted = "contradicted"
	Unproven     = "unproven"
)

// Prove answers two questions about a run: did KV move, and over which transport? The configuration proves
// nothing. A decode server that prefilled again itself contradicts any declaration; so does a transport other
// than the declared one. Without evidence, the run is unproven, and the reason names what would prove it.
func Prove(e Evidence) Proof {
	t := e.traces()
	c := &prover{e: e, t: t}
	c.checkMovement()
	c.checkTransport()
	return c.verdict()
}

// prover collects findings for the verdict.
type prover struct {
	e        Evidence
	t        traces
	evidence []string

	movement, transport finding
}

// finding is the answer to one of the two questions.
type finding struct{ status, reason string }

func (c *prover) note(format string, args ...any) {
	c.evidence = append(c.evidence, fmt.Sprintf(format, args...))
}

// verdict joins the findings: contradicted wins, then unproven.
func (c *prover) verdict() Proof {
	p := Proof{Status: Proved, Evidence: c.evidence}
	for _, status := range []string{Contradicted, Unproven} {
		for _, f := range []finding{c.movement, c.transport} {
			if f.status == status {
				p.Status, p.Reason = status, f.reason
				return p
			}
		}
	}
	p.Reason = c.movement.reason
	if c.transport.reason != "" {
		p.Reason += ", " + c.transport.reason
	}
	return p
}

// usualBlock is the block size assumed for an engine on a GPU that does not report it.
const usualBlock = 16

// blockTokens returns how many tokens at the end of a prompt may legitimately not be transferred: blocks move
// whole, and the last token is always computed. LMCache's chunks are larger.
func (e Evidence) blockTokens() float64 {
	block := 0.0
	for _, m := range e.Members {
		block = max(block, m.block())
	}
	if block == 0 {
		block = usualBlock
	}
	if c := e.table().find(e.Transfer.Connector); c != nil {
		block = max(block, float64(c.Chunk))
	}
	return block + 1
}

// tolerated is the share of prompts, or of their tokens, that decode servers may compute themselves without
// changing the measurement.
const tolerated = 0.01

// checkMovement decides whether KV moved: by the tokens that decode servers received, else by bytes, else by
// the log.
func (c *prover) checkMovement() {
	failures, _, _ := c.e.rise(metric.CounterTransferFailures, all)
	failures = max(failures, c.t.failed)
	if failures > 0 {
		c.note("counters and log: %.0f transfers failed%s", failures, behind(c.t.failedAt))
	}
	if c.t.recomputed > 0 {
		c.note("log, %.0f times: %s", c.t.recomputed, c.t.recomputedAt)
	}
	switch {
	case c.t.recomputed > tolerated*(c.t.recomputed+c.t.moved):
		c.movement = finding{Contradicted, fmt.Sprintf("decode prefilled again by itself: its log says so %.0f times", c.t.recomputed)}
	case c.byTokens(), c.byBytes(failures), c.byLog(failures):
	default:
		c.movement = finding{Unproven, "nothing reports whether KV caches moved: " + c.e.wouldProveMovement()}
	}
}

func behind(line string) string {
	if line == "" {
		return ""
	}
	return " (" + line + ")"
}

// byTokens compares the prompt tokens received from other servers with those sent.
func (c *prover) byTokens() bool {
	hits, _, known := c.e.rise(metric.CounterExternalHits, consumes)
	if !known {
		return false
	}
	local, _, _ := c.e.rise(metric.CounterPrefixHits, consumes)
	sent := c.e.prompts()
	expected := sent - local
	c.note("counters of decode: %.0f prompt tokens came from another server, %.0f from its own prefix cache, %.0f were sent", hits, local,
		sent)
	slack := float64(c.e.Requests) * c.e.blockTokens()
	switch {
	case c.e.sharedStore() && hits > 0:
		c.movement = finding{Proved, fmt.Sprintf("%.0f prompt tokens came out of the shared store", hits)}
	case c.e.sharedStore():
		c.movement = finding{Unproven, "no prompt token came out of the shared store, which is right only if no prefix of the workload repeats"}
	case sent == 0 && hits > 0:
		c.movement = finding{Proved, fmt.Sprintf("%.0f prompt tokens reached decode as KV", hits)}
	case expected <= slack && hits == 0: // too short, or all in decode's own cache
		c.movement = finding{Unproven,
			"the prompts were too short, or cached on decode, for a transfer to be seen; use longer prompts that do not repeat"}
	case hits >= (1-tolerated)*expected-slack && hits > 0:
		c.movement = finding{Proved, fmt.Sprintf("%.3g %% of the prompt tokens reached decode as KV", percent(hits, expected))}
	case hits <= tolerated*expected:
		c.movement = finding{Contradicted, fmt.Sprintf("decode prefilled again by itself: of %.0f prompt tokens %.0f arrived as KV", expected,
			hits)}
	default:
		c.movement = finding{Contradicted,
			fmt.Sprintf("decode prefilled a part again by itself: only %.3g %% of the prompt tokens arrived as KV", percent(hits, expected))}
	}
	return true
}

// prompts returns how many prompt tokens were sent: from the client, else from decode's counters.
func (e Evidence) prompts() float64 {
	if e.PromptTokens > 0 {
		return e.PromptTokens
	}
	n, _, _ := e.rise(metric.CounterPromptTokens, consumes)
	return n
}

func percent(part, whole float64) float64 { return min(100, 100*part/max(whole, 1)) }

// sharedStore reports whether whole servers share a store. How much they find in it depends on the workload.
func (e Evidence) sharedStore() bool {
	return !slices.ContainsFunc(e.Members, func(m MemberEvidence) bool { return m.Role == steps.RoleConsumer })
}

// byBytes compares the engine's byte counters with the prompts' KV.
func (c *prover) byBytes(failures float64) bool {
	bytes, total, known := c.e.rise(metric.CounterTransferBytes, all)
	if !known {
		return false
	}
	c.note("counters: %s of KV were transferred", amount(bytes))
	local, _, _ := c.e.rise(metric.CounterPrefixHits, consumes)
	expected := max(0, c.e.prompts()-local) * c.e.KVBytesPerToken
	slack := float64(c.e.Requests) * c.e.blockTokens() * c.e.KVBytesPerToken
	switch {
	case bytes > 0 && failures > 0:
		c.movement = finding{Contradicted,
			fmt.Sprintf("%.0f transfers failed, and nothing shows that decode did not prefill those prompts by itself", failures)}
	// Decode's caches and compressed KV lower the count, so this is only a loose bound.
	case bytes > 0 && expected > 0 && bytes < 0.1*(expected-slack):
		c.movement = finding{Contradicted, fmt.Sprintf("decode prefilled most prompts again by itself: %s moved, the prompts' KV is %s",
			amount(bytes), amount(expected))}
	case bytes > 0:
		c.movement = finding{Proved, amount(bytes) + " of KV moved"}
	case c.e.sharedStore():
		c.movement = finding{Unproven, "no server took KV from another, which is right only if no prefix of the workload repeats"}
	case total == 0 && c.e.Requests > 0:
		c.movement = finding{Contradicted, "decode prefilled again by itself: the servers count no transfer at all"}
	// A gauge of recent transfers may stay constant.
	case engineNamed(c.e.Engine).gauge:
		return false
	case c.e.Requests > 0:
		c.movement = finding{Contradicted, "decode prefilled again by itself: the servers count no transfer during the run"}
	default:
		return false
	}
	return true
}

// byLog uses the servers' log lines, and devices that carried as much as the KV.
func (c *prover) byLog(failures float64) bool {
	switch {
	case failures > 0:
		c.movement = finding{Contradicted,
			fmt.Sprintf("%.0f transfers failed, and nothing shows that decode did not prefill those prompts by itself", failures)}
	case c.t.moved > 0:
		c.note("log: %s", c.t.movedAt)
		c.movement = finding{Proved, "the servers' logs show transfers during the run"}
	case c.e.carriedBy(NICRDMA) || c.e.carriedBy(NICEthernet) || c.e.carriedBy(NICNVLink):
		c.movement = finding{Proved, "the devices carried as much as the prompts' KV"}
	default:
		return false
	}
	return true
}

// carriedBy reports whether the devices of a kind, only the declared ones if any, carried at least nine tenths
// of the KV. It returns false for simulated servers.
func (e Evidence) carriedBy(kind string) bool {
	kv := e.kvBytes()
	if e.Simulated || kv < minProofBytes {
		return false
	}
	return e.bytesOn(kind) >= 0.9*kv
}

// minProofBytes is the smallest amount of KV that stands out from other traffic on a device.
const minProofBytes = 64 << 20

// kvBytes returns how much KV moved: as counted, else as expected.
func (e Evidence) kvBytes() float64 {
	if bytes, _, known := e.rise(metric.CounterTransferBytes, all); known && bytes > 0 {
		return bytes
	}
	return e.prompts() * e.KVBytesPerToken
}

// bytesOn sums the traffic of the devices of a kind, the larger direction of each. If a device is declared,
// only declared ones count.
func (e Evidence) bytesOn(kind string) float64 {
	declared := slices.ContainsFunc(e.NICs, func(n NICEvidence) bool { return n.Kind == kind && e.isDeclared(n.Name) })
	sum := 0.0
	for _, n := range e.NICs {
		if n.Kind == kind && (!declared || e.isDeclared(n.Name)) {
			sum += max(n.Rx, n.Tx)
		}
	}
	return sum
}

// isDeclared compares device names without port numbers: mlx5_0:1 matches mlx5_0.
func (e Evidence) isDeclared(name string) bool {
	return slices.ContainsFunc(e.Transfer.Devices, func(d string) bool {
		d, _, _ = strings.Cut(d, ":")
		return d == name
	})
}

// wouldProveMovement returns what evidence is missing.
func (e Evidence) wouldProveMovement() string {
	if slices.ContainsFunc(e.Members, func(m MemberEvidence) bool { return m.After == nil }) {
		return "the servers' metrics could not be read"
	}
	if silent := engineNamed(e.Engine).silent; silent != nil {
		if why := silent(e.Version); why != "" {
			return why
		}
	}
	return "the servers have no counters of transfers; the machine's network counters, or a newer version, would show it"
}

// checkTransport decides which transport moved KV: by the devices that carried it, else by what the libraries
// logged when they connected.
func (c *prover) checkTransport() {
	if connector := c.e.table().find(c.e.Transfer.Connector); connector != nil && connector.Through != "" {
		c.transport = finding{Proved, "through " + connector.Through}
		return
	}
	seen := c.seen()
	want := c.e.Transfer.Transport
	switch {
	case want == "" && len(seen) == 0:
		c.transport = finding{status: Proved} // no transport was declared
	case want == "":
		c.transport = finding{Proved, "over " + strings.Join(names(seen), " and ")}
	case want == NCCL:
		c.transport = c.overNCCL(seen)
	default:
		c.transport = c.over(want, seen)
	}
}

// seen maps each transport that carried KV to its evidence.
func (c *prover) seen() map[string]string {
	seen := map[string]string{}
	for _, t := range slices.Sorted(maps.Keys(c.t.carried)) {
		seen[t] = c.t.carried[t]
		c.note("log: %s", c.t.carried[t])
	}
	for _, t := range slices.Sorted(maps.Keys(c.t.excluded)) {
		c.note("log: %s", c.t.excluded[t])
	}
	if c.t.echo != "" {
		c.note("log, an echo of the configuration and no proof: %s", c.t.echo)
	}
	for _, d := range []struct{ kind, transport string }{{NICRDMA, RDMA}, {NICNVLink, NVLink}} {
		if c.e.carriedBy(d.kind) {
			seen[d.transport] = fmt.Sprintf("%s devices carried %s, the KV is %s", d.transport, amount(c.e.bytesOn(d.kind)), amount(c.e.kvBytes()))
			c.note("machine: %s", seen[d.transport])
		}
	}
	// RDMA over Ethernet may count on both, so Ethernet counts only without other evidence.
	if c.e.carriedBy(NICEthernet) && len(seen) == 0 {
		seen[TCP] = fmt.Sprintf("network interfaces carried %s, the KV is %s", amount(c.e.bytesOn(NICEthernet)), amount(c.e.kvBytes()))
		c.note("machine: %s", seen[TCP])
	}
	return seen
}

func names(seen map[string]string) []string {
	var out []string
	for _, t := range slices.Sorted(maps.Keys(seen)) {
		out = append(out, display(t))
	}
	return out
}

// display formats a transport for people.
func display(t string) string {
	switch t {
	case NVLink:
		return "NVLink"
	case sharedMemory:
		return t
	}
	return strings.ToUpper(t)
}

// overNCCL looks for any NCCL channel: all of them satisfy the declaration.
func (c *prover) overNCCL(seen map[string]string) finding {
	for _, t := range slices.Sorted(maps.Keys(seen)) {
		if strings.Contains(seen[t], "NCCL INFO") {
			return finding{Proved, "over NCCL by " + display(t)}
		}
	}
	return finding{Unproven, "nothing shows that NCCL carried it; " + nccl.hint}
}

// over compares the observed transports with the declared one.
func (c *prover) over(want string, seen map[string]string) finding {
	for _, t := range slices.Sorted(maps.Keys(seen)) {
		if t != want {
			return finding{Contradicted, fmt.Sprintf("declared %s, but KV went over %s: %s", display(want), display(t), seen[t])}
		}
	}
	if line := c.t.excluded[want]; line != "" {
		return finding{Contradicted, fmt.Sprintf("declared %s, which a server does not have: %s", display(want), line)}
	}
	if len(seen) == 0 {
		return finding{Unproven, fmt.Sprintf("nothing shows that %s carried it; %s", display(want),
			c.e.table().find(c.e.Transfer.Connector).hint())}
	}
	if len(c.e.Transfer.Devices) > 0 && want == RDMA {
		for _, d := range c.t.devices[want] {
			if !c.e.isDeclared(d) {
				return finding{Contradicted, fmt.Sprintf("declared %s over %s, but it went over %s", display(want),
					strings.Join(c.e.Transfer.Devices, ", "), d)}
			}
		}
	}
	return finding{Proved, "over " + display(want)}
}
