package simulate

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/servegate/pipeline/steps/simulate/model"
	"github.com/servegate/pipeline/steps/simulate/wire"
)

// The host finishes an operation long before the GPU. Its time for an operation, and for the launch
// of a kernel in it, in microseconds.
const (
	hostOperation = 6.0
	hostLaunch    = 3.0
	hostGap       = 1.0
)

// writeTraces writes the traces of a server's ranks into its folder, in the format of torch's
// profiler, with one event for each operation of a step instead of one for each layer.
func (p profiler) writeTraces(ranks int, steps []model.RecordedStep) error {
	if err := os.MkdirAll(p.dir, 0o755); err != nil {
		return err
	}
	var at time.Duration
	if len(steps) > 0 {
		at = steps[len(steps)-1].End
	}
	for rank := range max(ranks, 1) {
		if err := writeTrace(filepath.Join(p.dir, p.name(rank, at)), rank, max(ranks, 1), steps); err != nil {
			return err
		}
	}
	return nil
}

func writeTrace(path string, rank, ranks int, steps []model.RecordedStep) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	z := gzip.NewWriter(f)
	w := bufio.NewWriter(z)
	t := &traceWriter{w: w, rank: rank}
	t.printf("{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [{\"id\": %d, \"name\": \"simulated\"}],\n", rank)
	t.printf("  \"distributedInfo\": {\"backend\": \"nccl\", \"rank\": %d, \"world_size\": %d},\n  \"displayTimeUnit\": \"ms\",\n  "+
		"\"traceEvents\": [\n", rank, ranks)
	t.printf("  {\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %d, \"tid\": 0, \"args\": {\"name\": \"python\"}}", hostPID+rank)
	for _, s := range steps {
		t.step(s)
	}
	t.printf("\n  ],\n  \"traceName\": \"%s\"\n}\n", filepath.Base(path))
	return errors.Join(t.err, w.Flush(), z.Close(), f.Close())
}

// hostPID is the process id of the first rank.
const hostPID = 1000

type traceWriter struct {
	w    io.Writer
	rank int
	id   int
	err  error
}

func (t *traceWriter) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(t.w, format, args...); err != nil && t.err == nil {
		t.err = err
	}
}

// step writes the host's operations in order, with the kernels that they launch.
func (t *traceWriter) step(s model.RecordedStep) {
	start, end := micros(s.Start), micros(s.End)
	host, gpu := start, start
	t.event("user_annotation", fmt.Sprintf("execute_context_%d(%d)_generation_%d(%d)", s.Sequences-s.DecodeTokens, s.PrefillTokens,
		s.DecodeTokens, s.DecodeTokens), false, start, end-start)
	for _, o := range s.Operations {
		took := micros(o.Time)
		t.event("cpu_op", o.Operation.Op, false, host, min(hostOperation, end-host))
		t.event("cuda_runtime", "cudaLaunchKernel", false, host+hostGap, min(hostLaunch, end-host-hostGap))
		t.event("kernel", o.Operation.Kernel, true, gpu, took)
		host, gpu = host+hostOperation+hostGap, gpu+took
	}
	t.event("cuda_runtime", "cudaStreamSynchronize", false, host, end-host)
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func (t *traceWriter) event(category, name string, onGPU bool, start, took float64) {
	if took < 0 {
		return
	}
	quoted, err := json.Marshal(name)
	if err != nil && t.err == nil {
		t.err = err
	}
	pid, tid := hostPID+t.rank, hostPID+t.rank
	if onGPU {
		pid, tid = t.rank, 7
	}
	t.id++
	t.printf(",\n  {\"ph\": \"X\", \"cat\": \"%s\", \"name\": %s, \"pid\": %d, \"tid\": %d, \"ts\": %.3f, \"dur\": %.3f, \"args\": "+
		"{\"External id\": %d}}", category, quoted, pid, tid, start, took, t.id)
}

// profiler of a server: the folder of its traces, "" for none.
type profiler struct {
	dir string
	// name returns the name of a rank's trace that ends at a time.
	name func(rank int, at time.Duration) string
}

// always is later than the end of any server.
const always = time.Duration(1<<63 - 1)

// startProfile starts to record steps; false if it already does.
func (d *driver) startProfile() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.profiling {
		return false
	}
	d.profiling = true
	d.engine.Record(d.clock.Now(), always)
	return true
}

// stopProfile returns the steps since the start; false if none are recorded.
func (d *driver) stopProfile() ([]model.RecordedStep, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.profiling {
		return nil, false
	}
	d.profiling = false
	return d.engine.Recorded(), true
}

// routesProfile adds the endpoints of the profiler.
func (s *Server) routesProfile(mux *http.ServeMux) {
	mux.HandleFunc("POST /start_profile", func(w http.ResponseWriter, r *http.Request) {
		var options struct {
			Dir string `json:"output_dir"`
		}
		if r.ContentLength > 0 && json.NewDecoder(r.Body).Decode(&options) == nil && options.Dir != "" {
			s.launch.profiler.dir = options.Dir
		}
		if !s.driver.startProfile() {
			wire.WriteJSON(w, http.StatusBadRequest, map[string]string{"error": "profiling is already in progress"})
			return
		}
		s.log.api("INFO", "api_router.py:22", "Profiler started.")
	})
	mux.HandleFunc("POST /stop_profile", func(w http.ResponseWriter, _ *http.Request) {
		steps, on := s.driver.stopProfile()
		if !on {
			wire.WriteJSON(w, http.StatusBadRequest, map[string]string{"error": "profiling is not in progress"})
			return
		}
		p := s.launch.profiler
		if err := p.writeTraces(s.launch.config.GPUs, steps); err != nil {
			wire.WriteJSON(w, http.StatusInternalServerError, map[string]string{"error": err.Error()})
			return
		}
		s.log.api("INFO", "api_router.py:29", "Profiler stopped.")
	})
}

// WriteTraces writes the traces that the server's profiler would write for recorded steps.
func (v *Virtual) WriteTraces(steps []model.RecordedStep) error {
	p := v.launch.profiler
	if p.dir == "" {
		return errors.New("the server was started without a folder for its traces")
	}
	return p.writeTraces(v.launch.config.GPUs, steps)
}
