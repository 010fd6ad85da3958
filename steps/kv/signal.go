package kv

import (
	"slices"
	"strconv"
	"strings"
)

// Shared memory carries what is declared as no transport: it only ever contradicts.
const sharedMemory = "shared memory"

// Signal is what a line of a server's log says of its transfers.
type Signal struct {
	Kind SignalKind
	// Transport that carried data, for Carried; that cannot, for Excluded.
	Transport string
	Devices   []string
	// Count of what happened: transfers, tokens; 1 where the line counts nothing.
	Count float64
}

// SignalKind is what kind of thing a line says.
type SignalKind int

// The kinds of signals.
const (
	NoSignal   SignalKind = iota
	Carried               // data goes, or went, over Transport
	Excluded              // Transport is not to be had on this machine
	Echo                  // the configuration repeated, no evidence
	Moved                 // KV arrived or left
	Recomputed            // a decode server computes a prompt that it should have received
	Failed                // a transfer failed
)

// Line recognises a line of a log. All of its words are in the line, in any order; then Read,
// where there is one, looks closer.
type Line struct {
	Words []string
	Says  Signal
	Read  func(line string) Signal
	// Local lines are evidence only of a server with one GPU: else they can be about the
	// traffic between its own GPUs.
	Local bool
}

// lines of all libraries, engines and connectors, each once: libraries share theirs.
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

// maxLine bounds what is looked at of one line; no line that says something is longer.
const maxLine = 4096

// readLine returns what a line says. gpus is how many GPUs the server has, 0 if not known.
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

// after is the word behind a text, up to a separator.
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

// figure is the number behind a text, 0 if there is none. Figures of a log are not trusted.
func figure(line, text string) float64 {
	x, err := strconv.ParseFloat(after(line, text), 64)
	if err != nil || !(x >= 0) || x > 1e18 {
		return 0
	}
	return x
}
