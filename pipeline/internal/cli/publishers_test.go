package cli

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps"
	"github.com/zclconf/go-cty/cty"
)

// wall is a place to publish at that nothing but this file knows.
type wall struct {
	publish.Publisher // of what it does not do
	here              bool
	told              *[]string
}

func (w wall) Name() string           { return "wall" }
func (w wall) Here() bool             { return w.here }
func (w wall) Usable() error          { return nil }
func (w wall) Change() publish.Change { return publish.Change{Rights: publish.RightsOfMembers} }
func (w wall) Posted() publish.Posted { return publish.Posted{CommentURL: "wall:1"} }

func (w wall) Run(o publish.RunOptions) publish.Run {
	for _, s := range o.Settings {
		*w.told = append(*w.told, "run "+s.Key)
	}
	return w
}

func (w wall) Annotations(doc *result.Document) []string {
	*w.told = append(*w.told, "annotate "+string(doc.Verdict))
	return nil
}

func (w wall) Post(_ context.Context, doc *result.Document, _ []publish.Settings) publish.Posted {
	*w.told = append(*w.told, "post "+string(doc.Verdict))
	return w.Posted()
}

func (w wall) Start(context.Context) []string { *w.told = append(*w.told, "start"); return nil }

func (w wall) Finish(_ context.Context, doc *result.Document) []string {
	*w.told = append(*w.told, "finish "+string(doc.Verdict))
	return nil
}

func (w wall) Abort(context.Context, error) []string { *w.told = append(*w.told, "abort"); return nil }

// TestAPublisherIsOneRow: a run and a stored result are published at a place that only this file
// knows, with a report block of its own. Outside of its jobs the first row says why nothing can be published.
func TestAPublisherIsOneRow(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("toy.pipeline.hcl", []byte(toyPipeline+"report \"wall\" \"w\" {\n  key = \"north\"\n}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var told []string
	at := func(here bool) func(*app) {
		return func(a *app) {
			a.formats = append(a.formats, toy)
			a.publishers = append(a.publishers, publisher{
				report: steps.Kind{Block: "report", Name: "wall", Doc: "Chalk.",
					Schema: steps.Schema{Attrs: []steps.Attr{{Name: "key", Type: cty.String, Doc: "Name."}}}},
				open: func(publish.Job) publish.Publisher { return wall{here: here, told: &told} },
			})
		}
	}
	toyRunner(t, at(true))(exitOK, "run", "toy.pipeline.hcl", "--simulate=virtual", "--out", "out")
	comment := []string{"comment", "--results", "out", "--allow-simulated"}
	if got := toyRunner(t, at(true))(exitOK, comment...); got != "wall:1\n" {
		t.Errorf("comment prints %q", got)
	}
	if got := strings.Join(told, ", "); got != "run north, start, finish pass, annotate pass, post pass" {
		t.Errorf("published: %s", got)
	}
	if got := toyRunner(t, at(false))(exitUsage, comment...); !strings.Contains(got, "GITHUB_REPOSITORY") {
		t.Errorf("outside of a job: %s", got)
	}
}
