package history

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/servegate/pipeline/pipeline/internal/comparability"
	"github.com/servegate/pipeline/reports/result"
)

// schemaVersion is the version of the records that this code writes.
const schemaVersion = "pipeline/history/1.0"

// Kind of a record.
type Kind string

// The kinds of records.
const (
	Session     Kind = "session"     // measurements of one run
	Calibration Kind = "calibration" // noise of cells compared with themselves
	Acceptance  Kind = "acceptance"  // a change is accepted: the baseline starts anew with it
	Drop        Kind = "drop"        // a session does not count
	Pin         Kind = "pin"         // sessions after this one do not count for baselines
	Unpin       Kind = "unpin"       // they count again
)

// Record is one immutable entry.
type Record struct {
	// ID is unique in the history; for a session it is the run's.
	ID   string    `json:"id"`
	Kind Kind      `json:"kind"`
	Time time.Time `json:"time"` // of the measurement, or of the annotation
	Tool string    `json:"tool,omitempty"`
	File string    `json:"file,omitempty"`
	// Source is the measured code.
	Source Source `json:"source"`
	// Simulated is how servers were simulated, "" for real ones.
	Simulated string            `json:"simulated,omitempty"`
	Machine   map[string]string `json:"machine,omitempty"`
	Cells     []Cell            `json:"cells,omitempty"`
	Noise     []Noise           `json:"noise,omitempty"`
	// Resident is how both launches of a calibration's pairs stayed loaded, "" if they ran one
	// after the other.
	Resident string `json:"resident,omitempty"`
	// Gates are the verdicts of a session, Attempt counts the tries of its change, and GPUHours is what its launches
	// held. Sessions of older versions have none.
	Gates    []Verdict `json:"gates,omitempty"`
	Attempt  int       `json:"attempt,omitempty"`
	GPUHours float64   `json:"gpu_hours,omitempty"`
	// Measures describe the metrics that the file declared.
	Measures   result.Measures `json:"measures,omitempty"`
	Annotation *Annotation     `json:"annotation,omitempty"`
}

// Verdict is the verdict of a gate. Fails is set if it failed the session.
type Verdict struct {
	Gate    string `json:"gate"`
	Verdict string `json:"verdict"`
	Fails   bool   `json:"fails,omitempty"`
}

// Source is the measured code.
type Source struct {
	Commit     string `json:"commit,omitempty"`
	Branch     string `json:"branch,omitempty"`
	Repository string `json:"repository,omitempty"`
	// Dirty is set if the checkout had uncommitted changes.
	Dirty bool `json:"dirty,omitempty"`
}

// Cell holds the measurements of a cell in a session or a calibration.
type Cell struct {
	Benchmark string `json:"benchmark"`
	Hash      string `json:"hash"`
	Label     string `json:"label"` // coordinates for people
	Engine    string `json:"engine,omitempty"`
	// Version of the engine, as reported by its servers.
	Version string `json:"version,omitempty"`
	Model   string `json:"model,omitempty"`
	// Runs counts the valid runs; Sent and Failed count requests.
	Runs   int `json:"runs"`
	Sent   int `json:"sent"`
	Failed int `json:"failed"`
	// Work that the session did in the cell, nil in records of earlier versions.
	Work *comparability.Work `json:"work,omitempty"`
	// Metrics are means over the valid runs: geometric on the log scale.
	Metrics map[string]float64 `json:"metrics"`
}

// envelope is a record in storage.
type envelope struct {
	Schema string          `json:"schema"`
	SHA256 string          `json:"sha256"` // of Record's bytes
	Record json.RawMessage `json:"record"`
}

// encode encodes a record with its checksum.
func encode(r Record) ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	body, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("record %s: %w", r.ID, err)
	}
	return fmt.Appendf(nil, "{\"schema\":%q,\"sha256\":%q,\"record\":%s}\n", schemaVersion, digest(body), body), nil
}

// decode decodes a record and verifies its checksum.
func decode(data []byte) (Record, error) {
	var e envelope
	if err := json.Unmarshal(data, &e); err != nil {
		return Record{}, fmt.Errorf("not a record: %w", err)
	}
	if e.Schema != schemaVersion {
		return Record{}, fmt.Errorf("its schema is %.40q, and this version reads %q", e.Schema, schemaVersion)
	}
	if got := digest(e.Record); got != e.SHA256 {
		return Record{}, errors.New("its checksum does not fit its content: it was altered or damaged")
	}
	dec := json.NewDecoder(bytes.NewReader(e.Record))
	var r Record
	if err := dec.Decode(&r); err != nil {
		return Record{}, fmt.Errorf("its content cannot be read: %w", err)
	}
	return r, r.check()
}

func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// check returns an error if a record is invalid.
func (r Record) check() error {
	switch {
	case r.ID == "":
		return errors.New("a record needs an id")
	case r.Time.IsZero():
		return fmt.Errorf("record %s has no time", r.ID)
	case !slices.Contains([]Kind{Session, Calibration, Acceptance, Drop, Pin, Unpin}, r.Kind):
		return fmt.Errorf("record %s is of the unknown kind %.40q", r.ID, r.Kind)
	case (r.Annotation != nil) != (r.Kind != Session && r.Kind != Calibration):
		return fmt.Errorf("record %s of kind %s and its content do not fit", r.ID, r.Kind)
	case r.Annotation != nil && (r.Annotation.Run == "" || r.Annotation.Reason == "" || r.Annotation.Author == ""):
		return fmt.Errorf("record %s must name a session, a reason and an author", r.ID)
	}
	for _, c := range r.Cells {
		for id, v := range c.Metrics {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return fmt.Errorf("record %s: %s of %s must be a finite number", r.ID, id, c.Label)
			}
		}
		if c.Hash == "" || c.Failed < 0 || c.Failed > c.Sent || c.Runs < 0 {
			return fmt.Errorf("record %s: cell %q has %d runs, %d of %d requests failed", r.ID, c.Label, c.Runs, c.Failed, c.Sent)
		}
	}
	for _, n := range r.Noise {
		for _, sd := range []float64{n.PairSD, n.Launch, n.Pass, n.Request} {
			if !(sd >= 0) || math.IsInf(sd, 0) {
				return fmt.Errorf("record %s: the spread of %s is %g", r.ID, n.Metric, sd)
			}
		}
	}
	return nil
}
