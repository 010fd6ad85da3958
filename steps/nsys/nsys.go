// Package nsys profiles servers with NVIDIA's Nsight Systems. It starts a server under `nsys launch`, which
// records nothing. Between `nsys start` and `nsys stop`, nsys records the server's GPU work. The server needs
// no profiling endpoint.
//
// Commands, options and tables follow the user guide (https://docs.nvidia.com/nsight-systems/UserGuide), with
// their names since 2023.1.
package nsys

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/engine"
)

// Program is the command line of Nsight Systems.
const Program = "nsys"

// Profiler profiles one server.
type Profiler struct {
	// Session names the nsys session: letters, digits and dashes, unique on the machine.
	Session string
	// Exec runs a program where the server runs. It may be nil until the server runs.
	Exec func(ctx context.Context, argv []string) (stdout, stderr string, err error)
	// Tokens returns how many tokens the server has generated so far, nil if it does not count them.
	Tokens func(context.Context) *float64
}

var _ steps.Profiler = Profiler{}

// Profiled makes nsys start the server. It records each kernel inside a CUDA graph, and the kernels of forked
// workers.
func (p Profiler) Profiled(spec steps.ServerSpec, _, _ string) (steps.ServerSpec, error) {
	switch {
	case spec.Image != "" && len(spec.Program()) == 0 && len(spec.OwnProgram) == 0:
		return spec,
			fmt.Errorf("%s: nsys cannot start the entrypoint of an image that the file does not name; set entrypoint in its container block",
				spec.Addr)
	case spec.Spread():
		return spec, fmt.Errorf("%s: nsys records the GPUs of one machine, and the server is spread over %d nodes", spec.Addr, spec.Nodes)
	}
	spec.Under = []string{
		Program, "launch", "--session-new=" + p.Session, "--trace=cuda", "--cuda-graph-trace=node",
		"--trace-fork-before-exec=true", "--wait=all",
	}
	return spec, nil
}

// Profile implements steps.Profiler. It leaves the report for Nsight Systems and its tables in the folder.
func (p Profiler) Profile(ctx context.Context, _ steps.Endpoint,
	w steps.ProfileWindow) (func(context.Context) (steps.Profiled, error), error) {
	report := path.Join(w.Dir, "report")
	return engine.Profile(ctx, w, engine.Control{
		Tokens: p.Tokens,
		Start: func(ctx context.Context) error {
			return p.exec(ctx, []string{"mkdir", "-p", w.Dir},
				[]string{Program, "start", "--session=" + p.Session, "--sample=none", "--cpuctxsw=none", "--output=" + report,
					"--force-overwrite=true"})
		},
		Stop: func(ctx context.Context) error {
			database := w.Dir + ".sqlite" // source of the tables; several times as large as the report
			return p.exec(ctx, []string{Program, "stop", "--session=" + p.Session},
				[]string{
					Program, "stats", "--report=cuda_gpu_kern_sum", "--report=cuda_gpu_mem_time_sum", "--format=csv", "--output=" + report,
					"--sqlite=" + database, "--force-export=true", "--force-overwrite=true", report + ".nsys-rep",
				},
				[]string{"rm", "-f", database})
		},
	}), nil
}

// exec runs programs where the server runs, one after the other.
func (p Profiler) exec(ctx context.Context, programs ...[]string) error {
	for _, argv := range programs {
		stdout, stderr, err := p.Exec(ctx, argv)
		if err == nil {
			continue
		}
		text := strings.Join(argv[:min(2, len(argv))], " ")
		if why := lastLine(stderr, stdout); why != "" {
			return fmt.Errorf("%s: %w: %s", text, err, why)
		}
		return fmt.Errorf("%s: %w", text, err)
	}
	return nil
}

// lastLine returns the last line of the first output that has text.
func lastLine(outputs ...string) string {
	for _, text := range outputs {
		lines := strings.Split(strings.TrimSpace(text), "\n")
		if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
			return last
		}
	}
	return ""
}

// Check asks nsys for its version, and returns an error if it cannot run.
func Check(ctx context.Context, exec func(ctx context.Context, argv []string) (stdout, stderr string, err error)) error {
	stdout, stderr, err := exec(ctx, []string{Program, "--version"})
	switch {
	case errors.Is(err, steps.ErrNotStarted):
		return errors.New("nsys is not in the PATH of this machine: install the command line of Nsight Systems, or take the profiler \"torch\"")
	case err != nil:
		return fmt.Errorf("nsys --version: %w: %s", err, lastLine(stderr, stdout))
	}
	return nil
}
