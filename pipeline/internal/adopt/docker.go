package adopt

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/pipeline/internal/hclfile"
)

// dockerRun is docker run, or podman run, of a server's image.
var dockerRun = form{
	name: "docker", title: "docker run",
	matches: func(s *source) bool { return s.starts(isDockerRun) },
	read:    commandLine.read,
}

func isDockerRun(words []string) bool {
	return len(words) > 2 && (words[0] == "docker" || words[0] == "podman" || words[0] == "nerdctl") &&
		(words[1] == "run" || words[1] == "create" || words[1] == "container" && words[2] == "run")
}

// option is an option of docker run. Exactly one of to and left is set.
type option struct {
	flag bool // it has no value
	to   func(d *Definition, s *server, value string) error
	left string // why it is not carried over
}

// put returns how an option becomes an argument of the container block.
func put(name string) func(*Definition, *server, string) error {
	return func(_ *Definition, s *server, value string) error {
		s.container = set(s.container, name, number(value))
		return nil
	}
}

// each returns how an option that is repeated becomes a list of the container block.
func each(name string) func(*Definition, *server, string) error {
	return func(_ *Definition, s *server, value string) error {
		before, _ := get(s.container, name)
		s.container = set(s.container, name, append(listOf(before), value))
		return nil
	}
}

// mapped returns how an option NAME=VALUE that is repeated becomes a map of the container block.
func mapped(name string) func(*Definition, *server, string) error {
	return func(_ *Definition, s *server, value string) error {
		before, _ := get(s.container, name)
		m, _ := before.(hclfile.Map)
		key, text, _ := strings.Cut(value, "=")
		s.container = set(s.container, name, set(m, key, text))
		return nil
	}
}

func sized(name string) func(*Definition, *server, string) error {
	return func(_ *Definition, s *server, value string) error {
		s.container = set(s.container, name, size(value))
		return nil
	}
}

const (
	ownNames  = "containers get names of their own"
	ownPorts  = "the launcher chooses the address, and publishes the port on this machine alone"
	ownHealth = "the server is asked whether it is ready"
	ownLife   = "the launcher starts, watches and removes the container"
)

// options of docker run. What has one dash has one letter.
var options = map[string]option{
	"--entrypoint": {to: func(_ *Definition, s *server, v string) error { s.inside = strings.Fields(v); return nil }},
	"--env":        {to: func(d *Definition, s *server, v string) error { return d.passed(s, v) }},
	"--env-file":   {left: "write its variables into env"},
	"--volume":     {to: (*Definition).volume}, "--mount": {to: (*Definition).mount}, "--tmpfs": {to: mapped("tmpfs")},
	"--gpus": {to: func(_ *Definition, s *server, v string) error { s.gpuRequest(v); return nil }}, "--runtime": {to: put("runtime")},
	"--device": {to: func(d *Definition, s *server, v string) error { return s.device(v) }},
	"--ipc":    {to: put("ipc")}, "--pid": {to: put("pid")}, "--shm-size": {to: sized("shm_size")}, "--memory": {to: sized("memory")},
	"--network": {to: network}, "--net": {to: network},
	"--ulimit": {to: mapped("ulimits")}, "--cap-add": {to: each("cap_add")}, "--cap-drop": {to: each("cap_drop")},
	"--security-opt": {to: each("security_opt")}, "--group-add": {to: each("group_add")}, "--user": {to: put("user")},
	"--workdir": {to: put("workdir")}, "--platform": {to: put("platform")}, "--pull": {to: put("pull")},
	"--cpuset-cpus": {to: put("cpuset")}, "--cpuset-mems": {to: put("memset")}, "--label": {to: mapped("labels")},
	"--privileged": {flag: true, to: func(_ *Definition, s *server, _ string) error {
		s.container = set(s.container, "privileged", true)
		return nil
	}},
	"--init": {flag: true, left: "the launcher runs one unless init = false"},
	"--name": {left: ownNames}, "--hostname": {left: ownNames}, "--publish": {left: ownPorts}, "--expose": {left: ownPorts},
	"--publish-all": {flag: true, left: ownPorts},
	"--rm":          {flag: true, left: ownLife}, "--detach": {flag: true, left: ownLife}, "--interactive": {flag: true, left: ownLife},
	"--tty": {flag: true, left: ownLife}, "--restart": {left: "a server that ends has failed"}, "--cidfile": {left: ownLife},
	"--stop-timeout": {left: "see stop_grace"}, "--log-driver": {left: "every log is kept in the run's directory"},
	"--log-opt":    {left: "every log is kept in the run's directory"},
	"--health-cmd": {left: ownHealth}, "--no-healthcheck": {flag: true, left: ownHealth},
}

// letters are the short options of docker run.
var letters = map[byte]string{
	'e': "--env", 'v': "--volume", 'p': "--publish", 'P': "--publish-all", 'm': "--memory", 'u': "--user", 'w': "--workdir", 'h': "--hostname",
	'l': "--label", 'd': "--detach", 'i': "--interactive", 't': "--tty",
}

// dockerRun reads docker run OPTIONS IMAGE WORDS.
func (d *Definition) dockerRun(c command, words []string) error {
	s := &server{name: "sut"}
	rest := words[2:]
	if words[1] == "container" {
		rest = words[3:]
	}
	for len(rest) > 0 && strings.HasPrefix(rest[0], "-") {
		var err error
		if rest, err = d.option(s, rest); err != nil {
			return err
		}
	}
	if len(rest) == 0 {
		return fmt.Errorf("%s names no image", c.text())
	}
	s.image = rest[0]
	if err := d.contained(s, rest[1:]); err != nil {
		return err
	}
	s.redirected(c)
	d.addServer(s)
	return nil
}

// option reads one option, or several letters, and returns the words behind it.
func (d *Definition) option(s *server, words []string) ([]string, error) {
	word := words[0]
	if !strings.HasPrefix(word, "--") {
		return d.letters(s, words)
	}
	name, value, inline := strings.Cut(word, "=")
	o, known := options[name]
	words = words[1:]
	if !inline && !o.flag && len(words) > 0 && (known || !strings.HasPrefix(words[0], "-")) {
		value, words = words[0], words[1:]
	}
	return words, d.apply(s, name, value, o, known)
}

func (d *Definition) letters(s *server, words []string) ([]string, error) {
	word, rest := words[0][1:], words[1:]
	for len(word) > 0 {
		name, known := letters[word[0]]
		if !known {
			return nil, fmt.Errorf("docker run has no option -%c", word[0])
		}
		o := options[name]
		word = word[1:]
		value := ""
		if !o.flag {
			value, word = strings.TrimPrefix(word, "="), ""
			if value == "" && len(rest) > 0 {
				value, rest = rest[0], rest[1:]
			}
		}
		if err := d.apply(s, name, value, o, true); err != nil {
			return nil, err
		}
	}
	return rest, nil
}

func (d *Definition) apply(s *server, name, value string, o option, known bool) error {
	text := strings.TrimSpace(name + " " + dollars(value))
	switch {
	case !known:
		s.leave(text, "the container block has nothing for it")
	case o.to == nil:
		s.leave(text, o.left)
	default:
		return o.to(d, s, value)
	}
	return nil
}

// contained reads the words behind the image.
func (d *Definition) contained(s *server, words []string) error {
	entry := s.inside
	s.inside = nil
	if line, ok := shellScript(slices.Concat(entry, words)); ok {
		return d.inShell(s, line)
	}
	return d.read(s, slices.Concat(entry, words))
}

// shellScript returns the script of sh -c SCRIPT, or the one word that holds a whole command line.
func shellScript(words []string) (string, bool) {
	if len(words) == 1 {
		e, _ := serving(strings.Fields(words[0]))
		return words[0], e != nil && strings.ContainsAny(words[0], " \t\n")
	}
	for i, w := range words {
		base := w[strings.LastIndexByte(w, '/')+1:]
		if i == 0 && base != "sh" && base != "bash" {
			return "", false
		}
		if i > 0 && strings.HasPrefix(w, "-") && strings.HasSuffix(w, "c") && i+1 < len(words) {
			return words[i+1], true
		}
	}
	return "", false
}

// inShell reads the server that a script in the container starts.
func (d *Definition) inShell(s *server, script string) error {
	all, err := commands(script, d.unset)
	if err != nil {
		return err
	}
	found := false
	for _, c := range all {
		words, more := unwrap(c.words)
		if e, _ := serving(words); e == nil || found {
			s.leave(c.text(), "the image's shell ran it beside the server: put it into the image")
			continue
		}
		for _, v := range append(c.env, more...) {
			d.environment(s, v.name, v.value)
		}
		s.redirected(c)
		if err := d.read(s, words); err != nil {
			return err
		}
		found = true
	}
	if !found {
		return fmt.Errorf("no server is started by the script %q", script)
	}
	return nil
}

// passed reads -e NAME=VALUE, or -e NAME, which passes a variable on.
func (d *Definition) passed(s *server, value string) error {
	name, text, has := strings.Cut(value, "=")
	if !has {
		text = d.unset(name, new(string))
	}
	d.environment(s, name, text)
	return nil
}

var volumeName = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_.-]*$`)

// volume reads SOURCE:TARGET[:OPTIONS].
func (d *Definition) volume(s *server, value string) error {
	from, target, _ := strings.Cut(value, ":")
	target, mode, _ := strings.Cut(target, ":")
	if target == "" {
		s.leave("--volume "+value, "a volume without a name is lost with its container: give it one in volumes")
		return nil
	}
	suffix := ""
	if slices.Contains(strings.Split(mode, ","), "ro") {
		suffix = ":ro"
	}
	if rest := strings.Trim(strings.ReplaceAll(","+mode+",", ",ro,", ","), ","); rest != "" && rest != "rw" {
		s.leave("the option "+rest+" of the volume "+dollars(value), "mounts are read-only or not")
	}
	if volumeName.MatchString(from) {
		return mapped("volumes")(d, s, from+"="+target+suffix)
	}
	return each("mounts")(d, s, d.homes(from)+":"+target+suffix)
}

// mount reads type=bind,source=S,target=T,readonly.
func (d *Definition) mount(s *server, value string) error {
	at := map[string]string{}
	for part := range strings.SplitSeq(value, ",") {
		k, v, has := strings.Cut(part, "=")
		if !has {
			v = "true"
		}
		at[k] = v
	}
	from, to := at["source"]+at["src"], at["target"]+at["dst"]+at["destination"]
	if at["type"] == "tmpfs" {
		return mapped("tmpfs")(d, s, to+"=")
	}
	mode := ""
	if at["readonly"] == "true" || at["ro"] == "true" {
		mode = ":ro"
	}
	return d.volume(s, from+":"+to+mode)
}

// gpuRequest reads all, a number or device=0,1.
func (s *server) gpuRequest(value string) {
	value = strings.Trim(value, `"'`)
	if list, ok := strings.CutPrefix(value, "device="); ok {
		ids := strings.Split(list, ",")
		devices := make([]any, len(ids))
		for i := range ids {
			devices[i] = strings.TrimSpace(ids[i])
		}
		s.container = set(s.container, "gpus", devices)
		s.gpus = len(ids)
		return
	}
	if n, err := strconv.Atoi(value); err == nil && n > 0 {
		s.gpus = n
		return
	}
	s.leave("--gpus "+value, "the server gets as many GPUs as it uses: see gpus")
}

// device reads --device. NVIDIA's CDI names request GPUs.
func (s *server) device(value string) error {
	if value == "nvidia.com/gpu=all" {
		s.gpuRequest("all")
		return nil
	}
	return each("devices")(nil, s, value)
}

func network(_ *Definition, s *server, value string) error {
	s.container = set(s.container, "network", value)
	return nil
}

var dockerSize = lazyregexp.New(`^([0-9.]+)([bkmgt]?)b?$`)

// size returns a size of Docker, in powers of 1,024, as the language has it.
func size(value string) string {
	m := dockerSize.FindStringSubmatch(strings.ToLower(value))
	if m == nil {
		return value
	}
	return m[1] + map[string]string{"": "B", "b": "B", "k": "KiB", "m": "MiB", "g": "GiB", "t": "TiB"}[m[2]]
}
