package session

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/servegate/pipeline/pipeline/internal/store"
)

// create makes the run directory and stores the inputs in it.
func (s *session) create(context.Context) (err error) {
	if s.runID, err = store.RunID(s.opt.Now(), s.opt.Random); err != nil {
		return err
	}
	path := s.opt.Out
	if path == "" {
		path = store.DefaultPath(".", s.runID)
	}
	if s.dir, err = store.Create(path, s.redact); err != nil {
		return err
	}
	if s.opt.Out == "" {
		err = store.LinkLatest(".", s.runID)
	}
	return errors.Join(err, s.keepInputs())
}

// keepInputs copies the plan and the file's sources into the run directory, so that `pipeline gate` can judge
// again.
func (s *session) keepInputs() error {
	err := s.dir.WriteJSON(store.PlanFile, s.opt.Plan)
	if s.source = s.opt.Source; s.source != nil {
		err = errors.Join(err, s.dir.WriteJSON(store.CheckoutFile, s.source))
	}
	kept := map[string]bool{}
	for i, f := range s.opt.Plan.Config.Inputs {
		name := filepath.Base(f.Name)
		if kept[name] { // from another folder
			name = fmt.Sprintf("%d-%s", i+1, name)
		}
		kept[name] = true
		err = errors.Join(err, s.dir.WriteSource(name, f.Bytes))
	}
	for name, text := range s.opt.Plan.Config.Read {
		err = errors.Join(err, s.dir.WriteBeside(name, []byte(text)))
	}
	return err
}
