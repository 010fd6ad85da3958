package reports

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/servegate/pipeline/reports/result"
)

// SummaryBudget is the size that a step summary is held to. GitHub drops one beyond
// 1 MiB altogether, it does not cut it.
const SummaryBudget = 900 << 10

// Summary appends doc as markdown to the file at path, the step summary of a GitHub job
// (the value of GITHUB_STEP_SUMMARY, which the caller reads). What the file holds already
// counts against SummaryBudget; a smaller Options.Budget is kept. The text passes through
// mask, which hides secrets; nil hides nothing.
func Summary(path string, doc *result.Document, o Options, mask func([]byte) []byte) (err error) {
	budget := SummaryBudget
	info, err := os.Stat(path)
	switch {
	case err == nil:
		budget -= int(min(info.Size(), SummaryBudget))
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("step summary: %w", err)
	}
	if budget <= 0 {
		return fmt.Errorf("step summary: %s is full already (%d bytes): write reports from separate steps", path, info.Size())
	}
	if o.Budget <= 0 || o.Budget > budget {
		o.Budget = budget
	}
	var text bytes.Buffer
	if err := Markdown(&text, doc, o); err != nil {
		return fmt.Errorf("step summary: %w", err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return fmt.Errorf("step summary: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	content := text.Bytes()
	if mask != nil {
		content = mask(content)
	}
	_, err = f.Write(content)
	return err
}
