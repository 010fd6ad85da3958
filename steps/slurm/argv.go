package slurm

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/steps"
)

// Place is the place of a server in a job.
type Place struct {
	// Node counts from 0.
	Node int
	// GPUs of the node that the server gets: positions, from 0, among the job's GPUs on the node.
	GPUs []int
}

// command holds the parameters of a step's command line.
type command struct {
	job, node, name string
	gpusPerNode     int
	runtime         string
	unset           []string
	at              Place
	process         steps.Process
	// files is the folder with the process's files, "" without files.
	files string
}

// argv returns the command line of a step.
//
// The step overlaps others; otherwise it would wait for the CPUs and memory of another server on the node. It
// requests all GPUs of the job on the node, because overlapping steps that request fewer all get the first
// ones. A script on the node selects the GPUs that the server sees.
func (c command) argv() ([]string, error) {
	program, options, err := c.program()
	if err != nil {
		return nil, err
	}
	gres := "none"
	if len(c.at.GPUs) > 0 {
		gres = fmt.Sprintf("gpu:%d", c.gpusPerNode)
	}
	argv := []string{
		"srun", "--jobid=" + c.job, "--job-name=" + c.name, "--overlap", "--nodes=1", "--ntasks=1", "--nodelist=" + c.node,
		"--gres=" + gres, "--cpu-bind=none", "--mpi=none", "--input=none", "--export=ALL", "--chdir=" + c.dir(),
	}
	argv = append(append(argv, options...), "--")
	if script := c.script(); script != "" {
		argv = append(argv, "sh", "-c", script+`exec "$@"`, "sh")
	}
	return append(argv, program...), nil
}

// dir returns the working directory of the step. A container has its own.
func (c command) dir() string {
	if c.process.Container != nil || c.process.Dir == "" {
		return "/"
	}
	return c.process.Dir
}

// script returns the shell code that sets up the server's environment on its node.
func (c command) script() string {
	text := ""
	if len(c.unset) > 0 {
		text = "unset " + strings.Join(c.unset, " ") + "; "
	}
	if len(c.at.GPUs) > 0 {
		fields := make([]string, len(c.at.GPUs))
		for i, n := range c.at.GPUs {
			fields[i] = strconv.Itoa(n + 1)
		}
		text += `CUDA_VISIBLE_DEVICES=$(printf %s "$CUDA_VISIBLE_DEVICES" | cut -d, -f` + strings.Join(fields, ",") +
			`); export CUDA_VISIBLE_DEVICES; `
	}
	return text
}

// program returns the command that runs on the node, and the srun options it needs.
func (c command) program() (program, options []string, err error) {
	box := c.process.Container
	if box == nil {
		return c.process.Argv, nil, nil
	}
	if err := Containers(c.runtime).Err(box); err != nil {
		return nil, nil, err
	}
	if c.runtime == steps.RuntimePyxis {
		return c.process.Argv, c.pyxis(box), nil
	}
	return c.apptainer(box), nil, nil
}

// pyxis returns the options of the pyxis plug-in of srun, which starts the container.
func (c command) pyxis(box *steps.ContainerSpec) []string {
	options := []string{"--container-image=" + enrootImage(box.Image), "--no-container-mount-home", "--no-container-entrypoint"}
	if mounts := c.mounts(box); len(mounts) > 0 {
		options = append(options, "--container-mounts="+strings.Join(mounts, ","))
	}
	if box.Workdir != "" {
		options = append(options, "--container-workdir="+box.Workdir)
	}
	return options
}

// apptainer returns the command line that runs the program in an image on the node.
func (c command) apptainer(box *steps.ContainerSpec) []string {
	verb := "exec"
	if box.OwnEntrypoint {
		verb = "run"
	}
	argv := []string{"apptainer", verb}
	if len(c.at.GPUs) > 0 {
		argv = append(argv, "--nv")
	}
	for _, m := range c.mounts(box) {
		argv = append(argv, "--bind", m)
	}
	if box.Workdir != "" {
		argv = append(argv, "--pwd", box.Workdir)
	}
	image := box.Image
	if !filepath.IsAbs(image) && !strings.Contains(image, "://") {
		image = "docker://" + image
	}
	return append(append(argv, image), c.process.Argv...)
}

// mounts formats mounts for both runtimes: SOURCE:TARGET[:ro].
func (c command) mounts(box *steps.ContainerSpec) []string {
	var out []string
	for _, m := range box.Mounts {
		text := m.Source + ":" + m.Target
		if m.ReadOnly {
			text += ":ro"
		}
		out = append(out, text)
	}
	if c.files != "" {
		out = append(out, c.files+":"+c.files+":ro")
	}
	return out
}

// enrootImage converts an image's name to enroot's form, registry.example#team/image:tag. A squash file is
// named by its path.
func enrootImage(image string) string {
	if filepath.IsAbs(image) || strings.Contains(image, "://") || strings.Contains(image, "#") {
		return image
	}
	first, rest, nested := strings.Cut(image, "/")
	if nested && (strings.ContainsAny(first, ".:") || first == "localhost") {
		return first + "#" + rest
	}
	return image
}

// stepName returns a step name that people and [Leftovers] can read.
func stepName(process string, n int64, m Mark) string {
	short := strings.Trim(notInNames.ReplaceAllString(process, "-"), "-")
	if len(short) > 60 {
		short = short[len(short)-60:]
	}
	return fmt.Sprintf("%s.%d@%s", short, n, m)
}

var notInNames = lazyregexp.New(`[^A-Za-z0-9._-]+`)

// symbolJob stands for the job ID, which is unknown before a job runs.
const symbolJob = "JOB"

// Show returns the command line of a step as a plan shows it.
func Show(spec steps.SlurmSpec, at Place, p steps.Process) ([]string, error) {
	c := command{
		job: symbolJob, node: fmt.Sprintf("NODE%d", at.Node), name: notInNames.ReplaceAllString(p.Name, "-"), gpusPerNode: spec.GPUsPerNode,
		runtime: spec.Runtime, at: at, process: p,
	}
	return c.argv()
}
