package adopt

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/pipeline/internal/hclfile"
)

// compose is a compose file of Docker. Each service of an engine is a server.
var compose = form{
	name: "compose", title: "a compose file",
	matches: func(s *source) bool {
		services, _ := at(s.first(), "services").(hclfile.Map)
		return slices.ContainsFunc(services, func(p hclfile.Pair) bool { return at(p.Value, "image") != nil || at(p.Value, "build") != nil })
	},
	read: (*Definition).compose,
}

// Fields of a service that are options of docker run with another name. A list gives the option once for each element.
var serviceOptions = map[string]string{
	"ipc": "--ipc", "pid": "--pid", "shm_size": "--shm-size", "mem_limit": "--memory", "runtime": "--runtime", "network_mode": "--network",
	"cap_add": "--cap-add", "cap_drop": "--cap-drop", "security_opt": "--security-opt", "group_add": "--group-add", "devices": "--device",
	"user": "--user", "working_dir": "--workdir", "platform": "--platform", "cpuset": "--cpuset-cpus", "pull_policy": "--pull",
	"container_name": "--name", "hostname": "--hostname", "ports": "--publish", "expose": "--expose", "restart": "--restart",
	"env_file": "--env-file", "gpus": "--gpus", "tty": "--tty", "stdin_open": "--interactive", "logging": "--log-driver",
}

var serviceReasons = map[string]string{
	"healthcheck": "the server is asked whether it is ready",
	"depends_on":  "nothing is started beside the server: use step blocks",
	"networks":    "the launcher connects the container",
	"profiles":    "choose servers by the axes of a benchmark",
	"build":       "build the image first and name it",
	"scale":       "a benchmark loads one server, or a deployment",
}

func (d *Definition) compose(s *source) error {
	root := fieldsOf(s.first(), "")
	root.take("version")
	root.take("name")
	root.take("volumes") // named volumes are made when missing
	services, _ := root.take("services").(hclfile.Map)
	root.rest(nil, d.leave)
	for _, p := range services {
		sv := &server{name: p.Name}
		err := d.service(sv, d.interpolate(p.Value))
		switch {
		case err != nil && (at(p.Value, "image") == nil || len(services) == 1):
			return fmt.Errorf("service %s: %w", p.Name, err)
		case err != nil:
			d.leave("the service "+p.Name+" ("+textOf(at(p.Value, "image"))+")", "it is not a server that is known")
		default:
			d.addServer(sv)
		}
	}
	return nil
}

func (d *Definition) service(s *server, v any) error {
	f := fieldsOf(v, "")
	s.image = textOf(f.take("image"))
	if s.image == "" {
		return fmt.Errorf("has no image: build it first and name it")
	}
	s.inside = wordsOf(f.take("entrypoint"))
	for _, e := range environmentOf(f.take("environment")) {
		if err := d.passed(s, e); err != nil {
			return err
		}
	}
	for _, v := range listOf(f.take("volumes")) {
		if err := d.serviceVolume(s, v); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(serviceOptions)) {
		v := f.take(name)
		for _, text := range textsOf(v) {
			if o := options[serviceOptions[name]]; text == "" || o.left != "" {
				s.leave(name+": "+compact(v), o.left)
				break
			} else if err := o.to(d, s, text); err != nil {
				return err
			}
		}
	}
	s.switches(f)
	s.serviceLimits(f)
	command := wordsOf(f.take("command"))
	f.rest(serviceReasons, s.leave)
	return d.contained(s, command)
}

// switches reads the fields of a service that are true or false, or maps.
func (s *server) switches(f *fields) {
	for _, name := range []string{"privileged", "init"} {
		if v, ok := f.take(name).(bool); ok {
			s.container = set(s.container, name, v)
		}
	}
	for _, t := range textsOf(f.take("tmpfs")) {
		folder, mode, _ := strings.Cut(t, ":")
		_ = mapped("tmpfs")(nil, s, folder+"="+mode)
	}
	limits, _ := f.take("ulimits").(hclfile.Map)
	for _, l := range limits {
		text := textOf(l.Value)
		if text == "" {
			text = textOf(at(l.Value, "soft")) + ":" + textOf(at(l.Value, "hard"))
		}
		_ = mapped("ulimits")(nil, s, l.Name+"="+text)
	}
	if v := f.take("stop_grace_period"); v != nil {
		s.leave("stop_grace_period: "+compact(v), "see stop_grace of the server")
	}
}

// serviceLimits reads deploy: its GPUs are carried over.
func (s *server) serviceLimits(f *fields) {
	deploy := fieldsOf(f.take("deploy"), "deploy.")
	resources := fieldsOf(deploy.take("resources"), "deploy.resources.")
	reservations := fieldsOf(resources.take("reservations"), "deploy.resources.reservations.")
	for _, device := range listOf(reservations.take("devices")) {
		g := fieldsOf(device, "deploy.resources.reservations.devices.")
		g.take("driver")
		g.take("capabilities")
		count, ids := g.take("count"), textsOf(g.take("device_ids"))
		switch {
		case len(ids) > 0:
			s.gpuRequest("device=" + strings.Join(ids, ","))
		case count == nil:
			s.gpuRequest("all")
		default:
			s.gpuRequest(textOf(count))
		}
		g.rest(nil, s.leave)
	}
	for _, f := range []*fields{reservations, resources, deploy} {
		f.rest(nil, s.leave)
	}
}

// serviceVolume reads a volume in its short or its long form.
func (d *Definition) serviceVolume(s *server, v any) error {
	if text, ok := v.(string); ok {
		return d.volume(s, text)
	}
	mode := ""
	if at(v, "read_only") == true {
		mode = ":ro"
	}
	if textOf(at(v, "type")) == "tmpfs" {
		return mapped("tmpfs")(d, s, textOf(at(v, "target"))+"=")
	}
	return d.volume(s, textOf(at(v, "source"))+":"+textOf(at(v, "target"))+mode)
}

// environmentOf returns NAME=VALUE, or NAME alone, from a map or a list.
func environmentOf(v any) []string {
	m, ok := v.(hclfile.Map)
	if !ok {
		return textsOf(v)
	}
	var out []string
	for _, p := range m {
		if p.Value == nil {
			out = append(out, p.Name)
		} else {
			out = append(out, p.Name+"="+textOf(p.Value))
		}
	}
	return out
}

// wordsOf returns the words of a command: a list, or a line.
func wordsOf(v any) []string {
	line, ok := v.(string)
	if !ok {
		return textsOf(v)
	}
	all, err := commands(strings.ReplaceAll(line, "\n", " "), func(name string, _ *string) string { return "$" + name })
	if err != nil || len(all) != 1 {
		return strings.Fields(line)
	}
	return all[0].words
}

var interpolation = lazyregexp.New(`\$(?:\$|([A-Za-z_][A-Za-z0-9_]*)|\{([A-Za-z_][A-Za-z0-9_]*)(?::?([-?])([^}]*))?\})`)

// interpolate replaces the variables of a compose file, whose values stand outside of it.
func (d *Definition) interpolate(v any) any {
	switch v := v.(type) {
	case string:
		return interpolation.ReplaceAllStringFunc(v, func(found string) string {
			m := interpolation.FindStringSubmatch(found)
			switch {
			case found == "$$":
				return "$"
			case m[3] == "-":
				return d.unset(m[2], &m[4])
			}
			return d.unset(m[1]+m[2], nil)
		})
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = d.interpolate(v[i])
		}
		return out
	case hclfile.Map:
		out := make(hclfile.Map, len(v))
		for i, p := range v {
			out[i] = hclfile.Pair{Name: p.Name, Value: d.interpolate(p.Value)}
		}
		return out
	}
	return v
}
