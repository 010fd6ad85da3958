package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/engine"
	"github.com/servegate/pipeline/pipeline/internal/profile"
	"github.com/servegate/pipeline/reports/humanize"
	"github.com/servegate/pipeline/steps"
)

// traceDir holds the folder of a server's traces: in the run directory, and from the server's point of view.
type traceDir struct{ here, there string }

// fetch fetches the traces of a server from where it runs.
func fetch(ctx context.Context, running steps.Server, dir traceDir) error {
	get := running.Capabilities().Fetch
	if get == nil {
		return errors.New("its traces are in a container that nothing can be fetched from")
	}
	return get(ctx, dir.there, dir.here)
}

// read adds up the traces of a side.
func (p *profiling) read(s *side) error {
	for _, addr := range slices.Sorted(maps.Keys(s.dirs)) {
		files, err := profile.Files(s.dirs[addr].here)
		if err != nil {
			return err
		}
		for _, file := range files {
			if err := s.summary.ReadFile(file); err != nil {
				p.note(fmt.Sprintf("The trace %s of %s counts as far as it could be read: %v.", filepath.Base(file), addr, err))
			}
			s.Files = append(s.Files, file)
		}
	}
	s.Traces = s.summary.Traces
	s.CPU, s.GPU = s.summary.Totals()
	if len(s.Files) == 0 {
		return errors.New("its profiler left no traces")
	}
	if s.CPU+s.GPU == 0 && p.targets.ProfiledAround() {
		return errors.New("nsys has recorded no kernel of a GPU")
	}
	if s.CPU+s.GPU == 0 {
		return errors.New("its traces have no operation")
	}
	if s.summary.Late > 0 {
		p.note(fmt.Sprintf("Of %d events of the %s %d came too far out of order, so that what is inside them may count twice.",
			s.summary.Events, s.Side, s.summary.Late))
	}
	return nil
}

// keep removes traces beyond the size limit, the largest first, and names the others by their paths in the run
// directory.
func (p *profiling) keep(sides []*side) {
	type trace struct {
		of   *side
		path string
		size int64
	}
	var all []trace
	total := int64(0)
	for _, s := range sides {
		files := s.Files
		if files == nil { // which could not be read
			for _, dir := range s.dirs {
				found, _ := profile.Files(dir.here) // use those found so far
				files = append(files, found...)
			}
		}
		for _, path := range p.mask(s, files) {
			if info, err := os.Lstat(path); err == nil {
				all, total = append(all, trace{s, path, info.Size()}), total+info.Size()
			}
		}
		s.Files = nil
	}
	slices.SortStableFunc(all, func(a, b trace) int { return cmp.Compare(b.size, a.size) })
	removed := 0
	for len(all) > 0 && total > p.spec.MaxSize {
		if err := os.Remove(all[0].path); err != nil {
			p.note(fmt.Sprintf("A trace cannot be removed: %v.", err))
		}
		total -= all[0].size
		all, removed = all[1:], removed+1
	}
	if removed > 0 {
		p.note(fmt.Sprintf("Of the traces the largest are not kept, %d of %d: together they are larger than max_size, %s.", removed, removed+
			len(all), humanize.ScaleFor("B").Value(float64(p.spec.MaxSize))))
	}
	for _, t := range all {
		t.of.Files = append(t.of.Files, strings.TrimPrefix(t.path, p.base()+string(filepath.Separator)))
	}
	for _, s := range sides {
		slices.Sort(s.Files)
	}
}

// mask masks the secrets in the traces of a side and returns those that may be kept. It removes other files of
// a profiler, whose content is unknown.
func (p *profiling) mask(s *side, files []string) []string {
	var kept []string
	for _, path := range files {
		switch {
		case profile.Opaque(path):
			if !s.secret {
				kept = append(kept, path)
				continue
			}
			p.note(fmt.Sprintf("%s of the %s is not kept: it shows the environment of its server, which has secrets.", filepath.Base(path), s.Side))
		default:
			err := profile.Mask(path, p.redact.FileWriter)
			if err == nil {
				kept = append(kept, path)
				continue
			}
			p.note(p.redact.String(fmt.Sprintf("%s of the %s is not kept, since its secrets cannot be masked: %v.",
				filepath.Base(path), s.Side, err)))
		}
	}
	for _, dir := range s.dirs {
		err := filepath.WalkDir(dir.here, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || slices.Contains(kept, path) {
				return err
			}
			return os.Remove(path)
		})
		if err != nil {
			p.note(fmt.Sprintf("A file that a profiler left cannot be removed: %v.", err))
		}
	}
	return kept
}

// apart keeps only the logs of a launch.
type apart struct{ engine.Store }

// WriteRecords implements engine.Store.
func (apart) WriteRecords(string, func(io.Writer) error) (string, error) { return "", nil }

// WriteJSON implements engine.Store.
func (apart) WriteJSON(string, any) error { return nil }
