package slurm

import (
	"bytes"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// output passes a step's output on and keeps what Slurm itself says in it.
type output struct {
	mu   sync.Mutex
	to   io.Writer
	line []byte   // begun
	said []string // Slurm's own lines, the latest
}

const (
	maxLine = 1 << 10
	maxSaid = 20
)

func newOutput(to io.Writer) *output {
	if to == nil {
		to = io.Discard
	}
	return &output{to: to}
}

// Write is called by the copiers of both outputs.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for rest := p; len(rest) > 0; {
		part, after, whole := bytes.Cut(rest, []byte("\n"))
		if room := maxLine - len(o.line); room > 0 {
			o.line = append(o.line, part[:min(room, len(part))]...)
		}
		if whole {
			o.note(string(o.line))
			o.line = o.line[:0]
		}
		rest = after
	}
	return o.to.Write(p)
}

var slurmsOwn = regexp.MustCompile(`^(srun|slurmstepd(-[^:]*)?): `)

func (o *output) note(line string) {
	if !slurmsOwn.MatchString(line) {
		return
	}
	o.said = append(o.said, strings.TrimSpace(line))
	if len(o.said) > maxSaid {
		o.said = o.said[1:]
	}
}

// find returns the latest of Slurm's lines with a text, "" if there is none.
func (o *output) find(text string) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, line := range slices.Backward(o.said) {
		if strings.Contains(line, text) {
			return line
		}
	}
	return ""
}

// last is the latest that Slurm has said.
func (o *output) last() string {
	if line := o.find(""); line != "" {
		return line
	}
	return "srun says nothing"
}
