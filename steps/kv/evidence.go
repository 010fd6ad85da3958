package kv

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/steps"
)

// Evidence is what a run left behind that says whether and how KV caches moved.
type Evidence struct {
	// Transfer that was declared.
	Transfer steps.TransferSpec
	// Engine and Version of the members.
	Engine, Version string
	Members         []MemberEvidence
	// NICs are the machine's devices with what they carried during the run. Loopback
	// counts as Ethernet.
	NICs []NICEvidence
	// Requests that succeeded and the tokens of their prompts; 0 if not known.
	Requests     int
	PromptTokens float64
	// KVBytesPerToken of the model, 0 if not known.
	KVBytesPerToken float64
	// Simulated servers put a part of the modelled bytes on real wires: devices prove nothing.
	Simulated bool
}

// MemberEvidence is what one server left behind.
type MemberEvidence struct {
	Name string
	// Role as [Layout.Role] says it.
	Role string
	// GPUs of the server, 0 if not known.
	GPUs int
	// Before and After are its counters at the start and the end of the run: those of
	// [steps.Observation], or the engine's own names. nil if they were not to be had.
	Before, After map[string]float64
	// Log since the server's start; RunFrom is the index of the run's first line.
	Log     []string
	RunFrom int
	// Describe is what the server says of its configuration, as its engine reports it.
	Describe map[string]string
}

// blockSizes are the names under which engines tell how many tokens a block of their KV
// cache holds: vLLM's, where the backend may have rounded what was asked for, and SGLang's.
var blockSizes = []string{"server_info.vllm_config.cache_config.block_size", "server_info.page_size", "page_size"}

// block is how many tokens a block of the member holds, 0 if it does not tell.
func (m MemberEvidence) block() float64 {
	for _, name := range blockSizes {
		if n, err := strconv.Atoi(m.Describe[name]); err == nil && n > 0 {
			return float64(n)
		}
	}
	return 0
}

// NICEvidence is what a device carried during the run, in bytes.
type NICEvidence struct {
	Name   string
	Kind   string // NICRDMA, NICEthernet or NICNVLink
	Rx, Tx float64
}

// The kinds of devices.
const (
	NICRDMA     = "ib"
	NICEthernet = "eth"
	NICNVLink   = "nvlink"
)

// aliases are the engines' own names of counters that have one of ours.
var aliases = map[string][]string{
	steps.CounterPrefixHits:       {"vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total", "sglang:cached_tokens_total"},
	steps.CounterExternalHits:     {"vllm:external_prefix_cache_hits_total", "vllm:external_prefix_cache_hits"},
	steps.CounterTransferBytes:    {"vllm:nixl_bytes_transferred_sum", "vllm:mooncake_bytes_transferred_sum", "vllm:mooncake_store_operation_bytes_total"},
	steps.CounterTransferFailures: {"vllm:nixl_num_failed_transfers_total", "vllm:mooncake_num_failed_transfers_total", "vllm:mooncake_num_failed_recvs_total", "sglang:num_transfer_failed_reqs_total"},
}

// read finds a counter under our name or the engine's.
func read(counters map[string]float64, name string) (float64, bool) {
	if v, ok := counters[name]; ok {
		return v, true
	}
	for _, alias := range aliases[name] {
		if v, ok := counters[alias]; ok {
			return v, true
		}
	}
	return 0, false
}

// rise is by how much a counter rose on the members that fit, and its total since their
// start; known is false if none of them tells. A counter that fell began anew.
func (e Evidence) rise(name string, fits func(MemberEvidence) bool) (delta, total float64, known bool) {
	for _, m := range e.Members {
		after, ok := read(m.After, name)
		if !ok || !fits(m) || m.Before == nil {
			continue
		}
		before, _ := read(m.Before, name)
		if before > after {
			before = 0
		}
		delta, total, known = delta+after-before, total+after, true
	}
	return delta, total, known
}

func all(MemberEvidence) bool { return true }

func consumes(m MemberEvidence) bool {
	return m.Role == steps.RoleConsumer || m.Role == steps.RoleBoth
}

// traces are the signals of all logs, gathered.
type traces struct {
	carried  map[string]string   // transport → first line that says so, with its member
	excluded map[string]string   // likewise
	devices  map[string][]string // transport → devices
	echo     string
	// Of the run alone:
	moved, recomputed, failed       float64
	movedAt, recomputedAt, failedAt string
}

func (e Evidence) traces() traces {
	t := traces{carried: map[string]string{}, excluded: map[string]string{}, devices: map[string][]string{}}
	for _, m := range e.Members {
		for i, line := range m.Log {
			if s := readLine(line, m.GPUs); s.kind != noSignal {
				t.add(s, m.Name+": "+quote(line), i >= m.RunFrom)
			}
		}
	}
	return t
}

func (t *traces) add(s signal, where string, inRun bool) {
	keep := func(m map[string]string) {
		if m[s.transport] == "" {
			m[s.transport] = where
		}
	}
	count := func(n *float64, at *string) {
		if inRun {
			*n += s.count
			if *at == "" {
				*at = where
			}
		}
	}
	switch s.kind {
	case carried:
		keep(t.carried)
		for _, d := range s.devices {
			if !slices.Contains(t.devices[s.transport], d) {
				t.devices[s.transport] = append(t.devices[s.transport], d)
			}
		}
	case excluded:
		keep(t.excluded)
	case echo:
		t.echo = where
	case moved:
		count(&t.moved, &t.movedAt)
	case recomputed:
		count(&t.recomputed, &t.recomputedAt)
	case failed:
		count(&t.failed, &t.failedAt)
	}
}

// maxQuote bounds a line that is quoted.
const maxQuote = 240

// quote makes a line of a log fit to be shown.
func quote(line string) string {
	line = strings.ToValidUTF8(line, "?")
	line = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, line)
	line = strings.Join(strings.Fields(line), " ")
	if len(line) > maxQuote {
		line = strings.ToValidUTF8(line[:maxQuote], "") + "…"
	}
	return line
}

// amount writes bytes for people.
func amount(bytes float64) string {
	units := []string{"B", "KB", "MB", "GB", "TB"}
	i := 0
	for bytes >= 1000 && i < len(units)-1 {
		bytes /= 1000
		i++
	}
	return fmt.Sprintf("%.3g %s", bytes, units[i])
}
