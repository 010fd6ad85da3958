package adopt

import (
	"cmp"
	"errors"
	"fmt"
)

// llmd is a scenario of llm-d-benchmark with a standalone server whose command is written out.
var llmd = form{
	name: "llm-d-benchmark", title: "a scenario of llm-d-benchmark",
	matches: func(s *source) bool { return len(listOf(at(s.first(), "scenario"))) > 0 },
	read:    (*Definition).llmd,
}

var llmdReasons = map[string]string{
	"affinity": "see node_selector of the kubernetes block", "namespace": "see the kubernetes block",
	"harnessNamespace": "every run measures from a Pod of its own", "harness": "the load is that of a benchmark block",
	"storage": "see volumes of the container block", "workDir": "every run has a directory of its own",
	"vllmCommon": "see the kubernetes block", "images": "no image of the harness is needed",
}

var errNotRendered = errors.New("is not rendered: its servers come from templates. Read the manifests that llm-d-benchmark " +
	"renders from it, with one --from for each Deployment")

func (d *Definition) llmd(s *source) error {
	root := fieldsOf(s.first(), "")
	for i, c := range listOf(root.take("scenario")) {
		f := fieldsOf(c, "")
		name := cmp.Or(textOf(f.take("name")), fmt.Sprintf("scenario_%d", i+1))
		if err := d.llmdScenario(name, f); err != nil {
			return err
		}
	}
	root.rest(nil, d.leave)
	return nil
}

func (d *Definition) llmdScenario(name string, f *fields) error {
	standalone := fieldsOf(f.take("standalone"), "standalone.")
	script := textOf(at(standalone.take("vllm"), "customCommand"))
	if textOf(standalone.take("enabled")) == "false" || script == "" {
		return fmt.Errorf("%s %w", name, errNotRendered)
	}
	image := fieldsOf(standalone.take("image"), "standalone.image.")
	sv := &server{name: name, image: textOf(image.take("repository"))}
	if tag := textOf(image.take("tag")); tag != "" {
		sv.image += ":" + tag
	}
	if pull := textOf(image.take("pullPolicy")); pull != "" && pull != "IfNotPresent" {
		sv.leave("standalone.image.pullPolicy = "+pull, "see pull of the container block")
	}
	for _, e := range listOf(standalone.take("extraEnvVars")) {
		variable, value := textOf(at(e, "name")), textOf(at(e, "value"))
		if at(e, "valueFrom") != nil {
			value = d.hidden(variable)
		}
		d.environment(sv, variable, value)
	}
	if err := d.llmdCommand(sv, script); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	f.take("model") // the command names it
	for _, off := range []string{"modelservice", "fma"} {
		if v := f.take(off); textOf(at(v, "enabled")) == "true" {
			sv.leave(off+" = "+compact(v), "only the standalone server is read")
		}
	}
	image.rest(nil, sv.leave)
	standalone.rest(nil, sv.leave)
	f.rest(llmdReasons, sv.leave)
	d.addServer(sv)
	return nil
}

// llmdCommand reads the command of the server from the script of its container.
func (d *Definition) llmdCommand(sv *server, script string) error {
	all, err := commands(script, d.unset)
	if err != nil {
		return fmt.Errorf("customCommand: %w", err)
	}
	for _, one := range all {
		if e, _ := serving(one.words); e == nil {
			sv.leave(one.text(), "only the command of the server is read")
			continue
		}
		for _, v := range one.env {
			d.environment(sv, v.name, v.value)
		}
		if err := d.read(sv, one.words); err != nil {
			return err
		}
	}
	if sv.kind == "" {
		return errors.New("customCommand starts no server that is known")
	}
	return nil
}
