package slurm

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

// output forwards a step's output and stores Slurm's own messages in it.
type output struct {
	mu   sync.Mutex
	to   io.Writer
	line []byte   // incomplete line
	said []string // Slurm's latest messages
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

// Write is called concurrently for standard output and standard error.
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

var slurmsOwn = lazyregexp.New(`^(srun|slurmstepd(-[^:]*)?): `)

func (o *output) note(line string) {
	if !slurmsOwn.MatchString(line) {
		return
	}
	o.said = append(o.said, strings.TrimSpace(line))
	if len(o.said) > maxSaid {
		o.said = o.said[1:]
	}
}

// find returns Slurm's latest message with a text, "" if none.
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

// last returns Slurm's latest message.
func (o *output) last() string {
	if line := o.find(""); line != "" {
		return line
	}
	return "srun produced no output"
}
