package lang

import (
	"time"

	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

const (
	defaultBuildTime = time.Hour
	defaultBuildDisk = 64 << 30
)

// bisectSchema describes the bisect block.
func bisectSchema() steps.Schema {
	return steps.Schema{Attrs: []steps.Attr{
		{Name: "good", Type: cty.String, Required: true,
			Doc: "Name of the variable that gets the good end, which every candidate is compared with."},
		{Name: "candidate", Type: cty.String, Required: true, Doc: "Name of the variable that gets the candidate. A variable of type string " +
			"gets the folder in which build ran, without build the commit or list entry itself; a map or object gets both as path and ref, and " +
			"the outputs of build by their names."},
		{Name: "candidates", Type: cty.List(cty.String),
			Doc: "The candidates in order, oldest first, such as tags of images; the commits between --good and --bad unless set."},
		{Name: "repository", Type: cty.String, Doc: "Folder of the git repository whose commits are the candidates, meant from the pipeline " +
			"file's folder; the repository that the file lies in unless set."},
	}, Blocks: []steps.BlockSchema{{
		Type: "build", Max: 1,
		Doc: "The command that makes a candidate, in a checkout of its commit that is not the user's own. A commit that cannot be built is " +
			"skipped.",
		Schema: steps.Schema{Attrs: []steps.Attr{
			{Name: "command", Type: cty.List(cty.String), Required: true,
				Doc: "The program and its arguments, one word each, run in the checkout. No shell reads them; use [\"sh\", \"-c\", \"…\"] for one."},
			{Name: "env", Type: cty.Map(cty.String), Sensitive: true, Doc: "Environment variables of the command."},
			{Name: "outputs", Type: cty.Set(cty.String),
				Doc: "Names of the values that the command writes, as lines name=value, to the file named by PIPELINE_OUTPUT."},
			{Name: "timeout", Type: cty.Number, Rule: steps.AboveZero, Unit: steps.UnitDuration,
				Default: cty.NumberIntVal(defaultBuildTime.Nanoseconds()),
				Doc:     "Longest time of one build, after which it is ended and its commit skipped."},
			{Name: "disk", Type: cty.Number, Rule: steps.AboveZero, Unit: steps.UnitBytes, Default: cty.NumberIntVal(defaultBuildDisk),
				Doc: "Most that one checkout may take with its build, beyond which the build is ended and its commit skipped. The last few builds " +
					"are kept, and all are removed in the end."},
		}},
	}}}
}

// readBisect reads a bisect block and checks it beyond types.
func readBisect(o steps.Object) (*config.Bisect, []steps.Problem) {
	s := &config.Bisect{Good: o.Text("good"), Candidate: o.Text("candidate"), Repository: o.Text("repository")}
	found := bisectSchema().Check(o)
	wrong := func(summary, detail string, path ...string) {
		found = append(found, steps.Problem{Path: path, Summary: summary, Detail: detail})
	}
	if s.Good == s.Candidate && s.Good != "" {
		wrong("good and candidate are the same variable", "The two sides of a comparison need a variable each.", "candidate")
	}
	list, err := o.Texts("candidates")
	if err != nil {
		wrong(err.Error(), "", "candidates")
	}
	s.Candidates = list
	seen := map[string]bool{}
	for _, c := range list {
		if seen[c] {
			wrong("the candidate "+c+" is listed twice", "Each step of the list is one that can be the culprit.", "candidates")
		}
		seen[c] = true
	}
	if list != nil && len(list) < 2 {
		wrong("a list of candidates has two ends", "Name the good one first and the bad one last.", "candidates")
	}
	if list != nil && s.Repository != "" {
		wrong("repository is for commits", "Listed candidates need none. Remove one of the two.", "repository")
	}
	for _, b := range o.Blocks["build"] {
		s.Build = &config.BisectBuild{Command: b, Disk: int64(b.Int("disk"))}
		if words, err := b.Texts("command"); err != nil || len(words) == 0 || words[0] == "" {
			wrong("command names no program", "Write the program and its arguments as a list: command = [\"make\", \"wheel\"].", "build")
		}
		if list != nil {
			wrong("build is for commits", "Listed candidates have no checkout to build in. A step \"exec\" can make what they need.", "build")
		}
	}
	return s, found
}
