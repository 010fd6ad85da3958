package reports

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/servegate/pipeline/reports/markdown"
	"github.com/servegate/pipeline/reports/result"
)

// Summary appends doc as markdown to the file at path, the step summary of a GitHub job (the caller reads its path
// from GITHUB_STEP_SUMMARY). The existing content of the file counts against markdown.SummaryBudget; a smaller
// Options.Budget applies. The text passes through mask, which hides secrets; nil hides nothing.
func Summary(path string, doc *result.Document, o Options, mask func([]byte) []byte) (err error) {
	budget := markdown.SummaryBudget
	info, err := os.Stat(path)
	switch {
	case err == nil:
		budget -= int(min(info.Size(), markdown.SummaryBudget))
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
