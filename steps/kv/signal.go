package kv

import (
	"slices"
	"strconv"
	"strings"
)

// sharedMemory cannot be declared as a transport; seeing it can only contradict.
const sharedMemory = "shared memory"

// Signal is what a server's log line reveals about its transfers.
type Signal struct {
	Kind SignalKind
	// Transport that carried data, for Carried; that is unavailable, for Excluded.
	Transport string
	Devices   []string
	// Count of transfers or tokens; 1 if the line has no count.
	Count float64
}

// SignalKind is the kind of fact that a line reports.
type SignalKind int

// The kinds of signals.
const (
	NoSignal   SignalKind = iota
	Carried               // data moves, or moved, over Transport
	Excluded              // Transport is unavailable on this machine
	Echo                  // repeats the configuration; no evidence
	Moved                 // KV arrived or left
	Recomputed            // a decode server computes a prompt whose KV it should have received
	Failed                // a transfer failed
)

// Line recognises a log line. The line must contain all of Words, in any order; then Read, if set, parses it.
type Line struct {
	Words []string
	Says  Signal
	Read  func(line string) Signal
	// Local lines count only for a server with one GPU. On others, they may concern the traffic between its own
	// GPUs.
	Local bool
}

// lines returns the lines of all connectors, libraries and engines, each once, because connectors share
// libraries.
func (t Table) lines() []Line {
	var all []Line
	seen := map[*Line]bool{}
	add := func(lines []Line) {
		if len(lines) > 0 && !seen[&lines[0]] {
			seen[&lines[0]] = true
			all = append(all, lines...)
		}
	}
	for _, c := range t {
		add(c.Lines)
		for _, f := range c.Forms {
			if f.Library != nil {
				add(f.Library.lines)
			}
		}
	}
	for _, e := range engines {
		add(e.lines)
	}
	return all
}

// maxLine is how much of a line is examined, in bytes; no known line is longer.
const maxLine = 4096

// readLine returns the signal in a line. gpus is the server's number of GPUs, 0 if unknown.
func readLine(lines []Line, line string, gpus int) Signal {
	if len(line) > maxLine {
		line = line[:maxLine]
	}
	for _, m := range lines {
		if slices.ContainsFunc(m.Words, func(w string) bool { return !strings.Contains(line, w) }) {
			continue
		}
		if m.Local && gpus > 1 {
			return Signal{}
		}
		s := m.Says
		if m.Read != nil {
			s = m.Read(line)
		}
		if m.Read == nil && s.Count == 0 {
			s.Count = 1
		}
		return s
	}
	return Signal{}
}

// after returns the word after a text, up to a separator.
func after(line, text string) string {
	_, rest, ok := strings.Cut(line, text)
	if !ok {
		return ""
	}
	rest = strings.TrimLeft(rest, " ")
	if i := strings.IndexAny(rest, " ,;|)"); i >= 0 {
		rest = rest[:i]
	}
	return rest
}

// figure returns the number after a text, 0 without a valid one: a log's content is untrusted.
func figure(line, text string) float64 {
	x, err := strconv.ParseFloat(after(line, text), 64)
	if err != nil || !(x >= 0) || x > 1e18 {
		return 0
	}
	return x
}
