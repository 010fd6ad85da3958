package plan

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/reports/term"
	"github.com/servegate/pipeline/steps"
)

// Process is one process of a target's launch, as it will be started. Ports that are chosen at launch are
// symbols such as PORT(prefill.http).
type Process struct {
	Name string `json:"name"`
	// Wave counts from 1: processes of a wave start together, the next wave when they are ready.
	Wave int `json:"wave"`
	// Role is its role in the deployment; "server" for a single server.
	Role string `json:"role"`
	// Image is the image of a container, "" for a process of the machine. Network and GPUs are the container's.
	Image   string   `json:"image,omitempty"`
	Network string   `json:"network,omitempty"`
	GPUs    []string `json:"gpus,omitempty"`
	Argv    []string `json:"argv"`
	// Env holds the variables that are set, as NAME=VALUE; secret values are "(secret)".
	Env   []string     `json:"env,omitempty"`
	Files []LaunchFile `json:"files,omitempty"`
	// Manifest is the object that a cluster gets for it, in YAML.
	Manifest string `json:"manifest,omitempty"`
	// Start is the start-up time in the model of a simulated server, in the model's seconds.
	Start float64 `json:"start_s,omitempty"`
}

// modelledStart returns how long simulated processes take to be ready, wave after wave.
func modelledStart(processes []Process) float64 {
	waves := map[int]float64{}
	for _, p := range processes {
		waves[p.Wave] = max(waves[p.Wave], p.Start)
	}
	sum := 0.0
	for _, longest := range waves {
		sum += longest
	}
	return sum
}

// machines returns the number of nodes on which the servers of a target run, 0 for one.
func machines(servers ...steps.ServerSpec) int {
	used := map[int]bool{}
	for _, s := range servers {
		for n := range max(s.Nodes, 1) {
			used[s.Node+n] = true
		}
	}
	if len(used) < 2 {
		return 0
	}
	return len(used)
}

// LaunchFile is a file that a process gets.
type LaunchFile struct {
	Name    string `json:"name"`
	EnvVar  string `json:"env_var,omitempty"` // gets its path
	Content string `json:"content"`
}

// WriteLaunch writes how each target is started, for people.
func (p *Plan) WriteLaunch(w io.Writer) error {
	text := new(strings.Builder)
	for _, t := range p.Targets {
		if len(t.Launch) == 0 {
			fmt.Fprintf(text, "%s is not started: it answers at %s\n\n", term.Escape(t.Addr), term.Escape(t.Source))
			continue
		}
		fmt.Fprintf(text, "launch of %s\n", term.Escape(t.Addr))
		for i, process := range t.Launch {
			process.write(text, i > 0 && process.Wave != t.Launch[i-1].Wave)
		}
		fmt.Fprintln(text)
	}
	_, err := io.WriteString(w, text.String())
	return err
}

func (p Process) write(w io.Writer, waits bool) {
	if waits {
		fmt.Fprintln(w, "  once these are ready:")
	}
	place := "process"
	if p.Image != "" {
		place = "container of " + p.Image
		if p.Network != "" {
			place += ", network " + p.Network
		}
		if len(p.GPUs) > 0 {
			place += ", GPUs " + strings.Join(p.GPUs, " ")
		}
	}
	fmt.Fprintf(w, "  %s (%s), %s\n", term.Escape(p.Name), p.Role, term.Escape(place))
	argv := make([]string, len(p.Argv))
	for i, word := range p.Argv {
		argv[i] = Quote(word)
	}
	fmt.Fprintf(w, "    %s\n", term.Escape(strings.Join(argv, " ")))
	for _, e := range p.Env {
		fmt.Fprintf(w, "    %s\n", term.Escape(e))
	}
	for _, f := range p.Files {
		if f.EnvVar != "" {
			fmt.Fprintf(w, "    %s=(path of %s)\n", term.Escape(f.EnvVar), term.Escape(f.Name))
		} else {
			fmt.Fprintf(w, "    %s:\n", term.Escape(f.Name))
		}
		for line := range strings.Lines(f.Content) {
			fmt.Fprintf(w, "      | %s\n", term.Escape(strings.TrimRight(line, "\n")))
		}
	}
	for line := range strings.Lines(p.Manifest) {
		fmt.Fprintf(w, "    | %s\n", term.Escape(strings.TrimRight(line, "\n")))
	}
}

// plainWord matches a word that needs no quotes in a shell. It accepts the symbols of ports.
var plainWord = lazyregexp.New(`^([A-Za-z0-9_@%+=:,./-]|PORT\([^)]*\))+$`)

// Quote quotes a word for a POSIX shell.
func Quote(word string) string {
	if plainWord.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// deploymentTarget converts a deployment to a target. Its settings are a hash of everything from which it is
// launched.
func deploymentTarget(d *config.Deployment, hosts *steps.DockerSpec) Target {
	t := Target{Addr: d.Addr, Engine: "deployment", Source: deploymentSource(d.Spec), Attached: attached(d.Spec),
		Settings: deploymentSettings(d.Spec, hosts), Work: map[string]string{}, Range: Range(d.Range)}
	if len(d.Spec.Members) > 0 {
		t.Model = d.Spec.Members[0].Spec.Model
	}
	var launched []steps.ServerSpec
	for i, s := range d.Servers {
		t.Images = images(append(t.Images, s.Spec.Image)...)
		if s.Spec.URL == "" {
			t.GPUs += s.Spec.GPUs
			launched = append(launched, s.Spec)
			maps.Copy(t.Work, workOf(d.Spec.Members[i].Name+" ", s.Spec))
		} else {
			t.Answering++
		}
	}
	t.Machines = machines(launched...)
	if d.Spec.Transfer != nil {
		t.Connector = d.Spec.Transfer.Connector
	}
	for _, s := range d.Spec.Services {
		t.Images = images(append(t.Images, s.Image)...)
	}
	return t
}

// attached reports whether the pipeline launches no server of a deployment, because all run already.
func attached(spec steps.DeploymentSpec) bool {
	return !slices.ContainsFunc(spec.Members, func(m steps.Member) bool { return m.Spec.URL == "" })
}

// deploymentSource describes in a few words what a deployment consists of. If all its servers run already, it
// names their addresses, as for a single server.
func deploymentSource(spec steps.DeploymentSpec) string {
	var names []string
	for _, m := range spec.Members {
		if attached(spec) {
			names = append(names, m.Spec.URL)
		} else {
			names = append(names, m.Name)
		}
	}
	parts := []string{strings.Join(names, " + ")}
	if t := spec.Transfer; t != nil {
		by := "KV by " + t.Connector
		if t.Transport != "" {
			by += " over " + t.Transport
		}
		parts = append(parts, by)
	}
	for _, s := range spec.Services {
		parts = append(parts, s.Name)
	}
	if spec.Router != nil {
		parts = append(parts, "router "+spec.Router.Protocol)
	}
	return strings.Join(parts, ", ")
}

func deploymentSettings(spec steps.DeploymentSpec, hosts *steps.DockerSpec) string {
	type member struct {
		Name, Role, Version, Source, Served string
		Args                                []steps.Arg
		Port                                int
		Settings                            string
	}
	members := make([]member, len(spec.Members))
	for i, m := range spec.Members {
		s := m.Spec
		members[i] = member{m.Name, m.Role, s.Version, s.URL + s.Image + strings.Join(s.Executable, " "), s.Model + " " + s.ServedName, s.Args,
			s.Port, settings(s, hosts)}
	}
	services := make([]steps.ServiceSpec, len(spec.Services))
	for i, s := range spec.Services {
		s.Env = withoutSecrets(s.Env)
		services[i] = s
	}
	router := spec.Router
	if router != nil {
		public := *router
		public.Env = withoutSecrets(router.Env)
		router = &public
	}
	return digest(struct {
		Members  []member
		Services []steps.ServiceSpec
		Transfer *steps.TransferSpec
		Router   *steps.RouterSpec
	}{members, services, spec.Transfer, router})[:16]
}
