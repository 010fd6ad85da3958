package router

import (
	"slices"
	"strings"

	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// Exec is the kind of routers that are programs of others.
const Exec = "exec"

// Listening says where a router listens and which servers are behind it.
type Listening struct {
	Host          string
	Port, Metrics steps.Port // Metrics is for a command that names router.metrics_port
	Decode        []string   // URLs
}

// Command replaces the placeholders of a command, [steps.RouterVars]. A word that is router.decode alone becomes one
// word for each server; within a longer word the URLs are separated by commas.
func Command(words []string, l Listening) []string {
	all := steps.RouterVar("decode")
	r := strings.NewReplacer(steps.RouterVar("host"), l.Host, steps.RouterVar("port"), l.Port.String(),
		steps.RouterVar("metrics_port"), l.Metrics.String(), all, strings.Join(l.Decode, ","))
	var out []string
	for _, word := range words {
		if word == all {
			out = append(out, l.Decode...)
			continue
		}
		out = append(out, r.Replace(word))
	}
	return out
}

func program() steps.Kind {
	return steps.Kind{
		Block: "router", Name: Exec,
		Doc: "A router of others, such as SGLang's or vLLM's, before servers that prefill and decode. --simulate replaces the servers " +
			"behind it and starts the router itself, so that its policy is measured without a GPU.",
		Schema: steps.Schema{Attrs: append(shared(),
			steps.Attr{Name: "command", Type: cty.List(cty.String), Required: true,
				Doc: "The program and its arguments, one word each; no shell reads them. It must listen on router.host and router.port. The word " +
					"router.decode becomes one word for each server, with its URL; within a longer word, such as \"--backends=${router.decode}\", " +
					"the URLs are separated by commas."},
			steps.Attr{Name: "env", Type: cty.Map(cty.String), Sensitive: true, Doc: "Environment variables of the command. Secrets belong here."},
		)},
		Validate: validateProgram,
	}
}

func validateProgram(o steps.Object) []steps.Problem {
	found := validate(protocol{name: Exec}, o)
	if !o.Known("command") {
		return found
	}
	words, err := o.Texts("command")
	if err != nil || len(words) == 0 || words[0] == "" {
		return append(found, steps.Problem{
			Path: []string{"command"}, Summary: "command names no program",
			Detail: `Write the program and its arguments as a list: command = ["my-router", "--port", router.port, "--backends", router.decode].`,
		})
	}
	for _, placeholder := range []string{steps.RouterVar("port"), steps.RouterVar("decode")} {
		if !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, placeholder) }) {
			found = append(found, steps.Problem{
				Path: []string{"command"}, Summary: "command is not given " + strings.Trim(placeholder, "${}"),
				Detail: "The router must listen on router.port and send requests to router.decode: both are known only when it is started.",
			})
		}
	}
	return found
}
