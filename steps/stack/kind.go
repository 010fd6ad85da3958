package stack

import (
	"slices"

	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/serverblock"
	"github.com/zclconf/go-cty/cty"
)

// Kind describes server "stack" blocks.
func Kind() steps.Kind {
	return steps.Kind{
		Block: "server", Name: Name,
		Doc: "A server that other tools start and remove: Helm, kubectl, kustomize, docker compose, a cloud's command line. up starts it for " +
			"each launch and writes its url; down removes it, also after this program was killed. The load goes straight to the url.",
		Schema:   schema(),
		Validate: validate,
	}
}

// shared lists the arguments that a stack has in common with other servers.
var shared = []string{"model", "served_name", "env", "dir", "api_key"}

func schema() steps.Schema {
	s := serverblock.Schema()
	s.Attrs = slices.DeleteFunc(s.Attrs, func(a steps.Attr) bool { return !slices.Contains(shared, a.Name) })
	s.Blocks = slices.DeleteFunc(s.Blocks, func(b steps.BlockSchema) bool { return b.Type != "ready" })
	words := cty.List(cty.String)
	s.Attrs = append([]steps.Attr{
		{Name: "up", Type: words, Required: true, Late: true,
			Doc: "Command that starts the stack, as a list of words. It ends when everything is applied; then the url is looked at until it is " +
				"ready. It gets " + IDVar + ", an ID of this launch for names of its objects, and writes lines NAME=VALUE to the file in " +
				steps.OutputVar +
				": url, and what else identifies the launch, such as version or digest. A local process that stays must have a session " +
				"of its own (setsid)."},
		{Name: "down", Type: words, Required: true, Late: true,
			Doc: "Command that removes the stack, as a list of words. It gets the same " + IDVar + " and must succeed if nothing is there: it " +
				"runs after every up, even one that failed, and by cleanup and --resume after this program was killed."},
		{Name: "render", Type: words, Late: true,
			Doc: "Command that prints what up applies, without applying it: kubectl kustomize, helm template, docker compose config. It runs " +
				"before each up. The result holds what it printed and its digest, reports show the difference of the sides, and plan --launch " +
				"runs it. Values of Secrets of Kubernetes, and of variables whose names mean a secret, are hidden."},
		{Name: "logs", Type: words, Late: true, Doc: "Command that prints the stack's log and follows it. Its output is the log of the launch."},
		{Name: "lost", Type: words, Late: true, Doc: "Command that fails if the stack has lost its place, such as a preempted node. Its output " +
			"is the reason. It runs when a launch or a run fails; a loss is a fault of the infrastructure and not of the server."},
	}, s.Attrs...)
	return s
}

func validate(o steps.Object) []steps.Problem {
	found := serverblock.Check(o)
	for _, name := range []string{"up", "down", "render", "logs", "lost"} {
		if words, err := o.Texts(name); o.Known(name) && (err != nil || len(words) == 0 || words[0] == "") {
			found = append(found, steps.Problem{
				Path: []string{name}, Summary: name + " must be a command with at least one word",
				Detail: `For example ` + name + ` = ["sh", "-ec", "…"].`,
			})
		}
	}
	return found
}
