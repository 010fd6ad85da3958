package stack

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2"
)

// Record is a launch whose down has not succeeded yet.
type Record struct {
	ID     string `json:"id"`
	RunID  string `json:"run_id"`
	Server string `json:"server"`
	// Owner is the program that started it.
	Owner string `json:"owner"`
	// Down is the command that removes it, in Dir, with Env besides the environment of whoever runs it.
	Down []string `json:"down"`
	Dir  string   `json:"dir"`
	Env  []string `json:"env,omitempty"`
	// Secrets names the variables of Env whose values are not recorded.
	Secrets []string `json:"secrets,omitempty"`
}

// Journal keeps records as files in a folder of the user. The file for what up of a launch writes is beside its record, so
// that it goes with it even if the program is killed: outputs may be keys.
type Journal struct{ Dir string }

// The ends of the names of a launch's files.
const (
	suffix        = ".json"
	outputsSuffix = ".outputs"
)

// Add stores a record. It is on disk when Add returns.
func (j Journal) Add(r Record) error {
	text, err := json.Marshal(r)
	if err == nil {
		err = os.MkdirAll(j.Dir, 0o700)
	}
	if err == nil {
		err = renameio.WriteFile(filepath.Join(j.Dir, r.ID+suffix), text, 0o600)
	}
	if err != nil {
		return fmt.Errorf("record a stack before its start: %w", err)
	}
	return nil
}

// createOutputs creates an empty file for the outputs of a launch with a record, and returns its path.
func (j Journal) createOutputs(id string) (string, error) {
	path := filepath.Join(j.Dir, id+outputsSuffix)
	return path, os.WriteFile(path, nil, 0o600)
}

// Remove deletes a record with the file for its outputs.
func (j Journal) Remove(id string) error {
	for _, suffix := range []string{outputsSuffix, suffix} {
		if err := os.Remove(filepath.Join(j.Dir, id+suffix)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Records returns the records, oldest name first.
func (j Journal) Records() ([]Record, error) {
	entries, err := os.ReadDir(j.Dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var out []Record
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), suffix) || !e.Type().IsRegular() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(j.Dir, e.Name()))
		if errors.Is(err, fs.ErrNotExist) {
			continue // another program has removed it
		}
		var r Record
		if err == nil {
			err = json.Unmarshal(text, &r)
		}
		if err != nil {
			return out, fmt.Errorf("record of a stack %s: %w", e.Name(), err)
		}
		out = append(out, r)
	}
	return out, nil
}
