package history

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/steps"
)

const (
	// folder of the records, in the directory or the root of the branch.
	folder = "records"
	ending = ".json"
	// maxRecord limits the size of files to read: a session of 1,000 cells has 2 MB.
	maxRecord = 16 << 20
	// defaultBranch holds the history by default.
	defaultBranch = "pipeline-history"
	gitPrefix     = "git:"
)

// ErrExists reports that the history already has a record with that name.
var ErrExists = errors.New("the history has this record already; records are never replaced")

// Store stores files that never change.
type Store interface {
	// Append adds a file. It returns ErrExists if the name exists.
	Append(ctx context.Context, name string, content []byte) error
	// Read returns all files.
	Read(ctx context.Context) ([]File, error)
	// Close releases the resources of the store on this machine.
	Close() error
}

// File is a file of a store. Err is why its content could not be read.
type File struct {
	Name    string
	Content []byte
	Err     error
}

// Options configures a store.
type Options struct {
	// Spawner starts git.
	Spawner steps.Spawner
	// Dir is the folder whose git repository is used; "." by default.
	Dir string
}

// Open opens a store: a directory, or "git:REMOTE#BRANCH" with the name, the URL or the path of a
// repository. "git:" alone means the branch pipeline-history of origin.
func Open(ctx context.Context, location string, opt Options) (Store, error) {
	rest, isGit := strings.CutPrefix(location, gitPrefix)
	if !isGit {
		return openDir(location)
	}
	remote, branch, _ := strings.Cut(rest, "#")
	return openGit(ctx, cmp.Or(remote, "origin"), cmp.Or(branch, defaultBranch), opt)
}

// OnBranch reports whether a location is a branch of a repository.
func OnBranch(location string) bool { return strings.HasPrefix(location, gitPrefix) }

// Add encodes a record and appends it.
func Add(ctx context.Context, s Store, r Record) (name string, err error) {
	content, err := encode(r)
	if err != nil {
		return "", err
	}
	name = store.Name(r.Time.UTC().Format("20060102-150405")+"-"+string(r.Kind)+"-"+r.ID) + ending
	return name, s.Append(ctx, name, content)
}

// History holds the whole content of a store, oldest first.
type History struct {
	Records []Record
	// Quarantined are the files that are not valid records.
	Quarantined []Quarantined
}

// Quarantined is a file that is ignored, with the reason.
type Quarantined struct{ Name, Reason string }

// Load reads a store. Damaged records are quarantined, not errors.
func Load(ctx context.Context, s Store) (*History, error) {
	files, err := s.Read(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the history: %w", err)
	}
	h := &History{}
	seen := map[string]string{}
	for _, f := range files {
		r, err := Record{}, f.Err
		if err == nil {
			r, err = decode(f.Content)
		}
		if other, twice := seen[string(r.Kind)+r.ID]; err == nil && twice {
			err = fmt.Errorf("it has the id of %s", other)
		}
		if err != nil {
			h.Quarantined = append(h.Quarantined, Quarantined{f.Name, err.Error()})
			continue
		}
		seen[string(r.Kind)+r.ID] = f.Name
		h.Records = append(h.Records, r)
	}
	slices.SortStableFunc(h.Records, func(a, b Record) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.ID, b.ID)) })
	return h, nil
}

// Sessions returns the valid sessions of a branch ("" for all), oldest first.
func (h *History) Sessions(branch string) iter.Seq[Record] {
	return func(yield func(Record) bool) {
		dropped := h.dropped()
		for _, r := range h.Records {
			if r.Kind == Session && !dropped[r.ID] && (branch == "" || r.Source.Branch == branch) && !yield(r) {
				return
			}
		}
	}
}

// Find returns a session by its ID or a prefix of it.
func (h *History) Find(id string) (Record, error) {
	var found []Record
	for _, r := range h.Records {
		if r.Kind == Session && id != "" && strings.HasPrefix(r.ID, id) {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 0:
		return Record{}, fmt.Errorf("the history has no session %q; `pipeline baseline list` shows them", id)
	case 1:
		return found[0], nil
	}
	return Record{}, fmt.Errorf("%d sessions begin with %q; give more of the id", len(found), id)
}

// isRecord reports whether a name in the folder of records can be a record.
func isRecord(name string) bool {
	return strings.HasSuffix(name, ending) && !strings.ContainsAny(name, "/\\") && !strings.HasPrefix(name, ".")
}
