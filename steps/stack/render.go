package stack

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/secret"
)

const (
	// renderTimeout limits render, which may fetch a chart.
	renderTimeout = 2 * time.Minute
	// maxRendered limits the output of render that is kept, in bytes.
	maxRendered = 256 << 10
	// hidden replaces the values of secrets.
	hidden = "(secret)"
)

// Render runs the render command of a stack, without applying anything. It returns nil if the server has none.
func Render(ctx context.Context, spawner steps.Spawner, spec steps.ServerSpec, dir string, log io.Writer) (*steps.Applied, error) {
	id, err := newID()
	if err != nil {
		return nil, err
	}
	r := &running{launcher: launcher{spec, Options{Spawner: spawner, Dir: dir}}, id: id, dir: spec.Path(dir, "."), log: log}
	return r.render(ctx)
}

// render returns what up applies in a form that is the same for each launch, without secrets.
func (r *running) render(ctx context.Context) (*steps.Applied, error) {
	if r.spec.Stack == nil || len(r.spec.Stack.Render) == 0 {
		return nil, nil
	}
	var out bytes.Buffer
	c := r.command(r.spec.Stack.Render, &out)
	c.Stderr = r.log
	if err := r.run(ctx, c, renderTimeout); err != nil {
		return nil, fmt.Errorf("render: %w", err)
	}
	text := strings.ReplaceAll(strings.ToValidUTF8(out.String(), "?"), r.id, "$"+IDVar)
	for _, e := range r.spec.Env {
		if e.Secret && e.Value != "" {
			text = strings.ReplaceAll(text, e.Value, hidden)
		}
	}
	text = withoutSecrets(text)
	if strings.TrimSpace(text) == "" {
		return nil, fmt.Errorf("render: it printed nothing; it must print what up applies")
	}
	sum := sha256.Sum256([]byte(text))
	applied := &steps.Applied{Digest: "sha256:" + hex.EncodeToString(sum[:]), Text: text}
	if len(text) > maxRendered {
		applied.Text = text[:strings.LastIndexByte(text[:maxRendered], '\n')+1]
		applied.Cut = true
	}
	return applied, nil
}

var (
	// ofSecret matches the line that makes a document a Secret of Kubernetes.
	ofSecret = lazyregexp.New(`^kind:\s*["']?Secret["']?\s*$`)
	// setting matches NAME: VALUE and NAME=VALUE, also as an element of a list.
	setting = lazyregexp.New(`^(\s*(?:- )?["']?([A-Za-z_][A-Za-z0-9_.-]*)["']?\s*[:=]\s*)(\S.*)$`)
	// named matches the name of a variable of a container, whose value is the next line.
	named = lazyregexp.New(`^\s*(?:- )?name:\s*["']?([A-Za-z_][A-Za-z0-9_]*)["']?\s*$`)
	// valued matches that value.
	valued = lazyregexp.New(`^(\s*(?:- )?value:\s*)(\S.*)$`)
)

// withoutSecrets hides the values of Secrets of Kubernetes, and of variables whose names mean a secret. The digest is of
// what remains, because a digest of a short secret reveals it.
func withoutSecrets(text string) string {
	var out strings.Builder
	for i, document := range strings.Split(text, "\n---\n") {
		if i > 0 {
			out.WriteString("\n---\n")
		}
		lines := strings.Split(document, "\n")
		if slices.ContainsFunc(lines, ofSecret.MatchString) {
			lines = withoutData(lines)
		}
		name := ""
		for k, line := range lines {
			lines[k] = withoutValue(line, name)
			name = ""
			if m := named.FindStringSubmatch(line); m != nil {
				name = m[1]
			}
		}
		out.WriteString(strings.Join(lines, "\n"))
	}
	return out.String()
}

// withoutData hides the values below data and stringData of a Secret. Lines of a block of text are left out.
func withoutData(lines []string) []string {
	var out []string
	inside, depth := false, 0
	for _, line := range lines {
		indent := len(line) - len(strings.TrimLeft(line, " "))
		name, value, isKey := strings.Cut(line, ":")
		switch {
		case line != "" && indent == 0:
			inside, depth = isKey && (name == "data" || name == "stringData"), 0
			if inside && strings.TrimSpace(value) != "" {
				line = name + ": " + hidden
			}
			out = append(out, line)
		case !inside:
			out = append(out, line)
		case isKey && (depth == 0 || indent == depth):
			depth = indent
			out = append(out, name+": "+hidden)
		}
	}
	return out
}

// withoutValue hides the value of a line whose name means a secret. name is the variable that the line before named.
func withoutValue(line, name string) string {
	if m := valued.FindStringSubmatch(line); m != nil && name != "" {
		return m[1] + masked(name, m[2])
	}
	if m := setting.FindStringSubmatch(line); m != nil {
		return m[1] + masked(m[2], m[3])
	}
	return line
}

func masked(name, value string) string {
	for _, found := range secret.Values(name, strings.Trim(value, `"'`)) {
		value = strings.ReplaceAll(value, found, hidden)
	}
	return value
}
