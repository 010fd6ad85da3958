package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/result"
)

// resumeSource takes over the code that the run began with. A run that resumes with other code has no single
// commit.
func (s *session) resumeSource() error {
	text, err := os.ReadFile(filepath.Join(s.dir.Path(), store.CheckoutFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var began result.Source
	if err == nil {
		err = json.Unmarshal(text, &began)
	}
	if err != nil {
		return fmt.Errorf("reading which code the run began with: %w", err)
	}
	if s.opt.Source != nil && s.opt.Source.Commit == began.Commit {
		s.source = &began
		s.source.Dirty = began.Dirty || s.opt.Source.Dirty
	}
	return nil
}
