package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/servegate/pipeline/internal/golden"
	"github.com/servegate/pipeline/internal/picture"
)

// forms are the comments of which docs/github-action.md shows pictures: edits of examples/github/gate.pipeline.hcl, and the
// exit status of its rehearsal.
var forms = map[string]struct {
	edits []string
	exit  int
}{
	"regression":      {[]string{`default     = "0%"`, `default     = "25%"`}, 1},
	"pass":            {[]string{`slowdown = "0%" }`, `slowdown = "20%" }`}, 0},
	"inconclusive":    {[]string{"slowdown = each.value.slowdown", "slowdown = each.value.slowdown\n    launch_noise = \"5%\""}, 0},
	"not-your-change": {[]string{"slowdown = each.value.slowdown", "fail = [\"oom\"]"}, 4},
}

var (
	commentMarks = regexp.MustCompile(`(?m)^<!-- pipeline:.* -->\n`)
	runNames     = regexp.MustCompile("Run `[0-9a-f-]+`")
	logTimes     = regexp.MustCompile(`\d\d-\d\d \d\d:\d\d:\d\d`)
	toolNames    = regexp.MustCompile("by `pipeline [^`]*`")
)

// TestComments: the comments beside the pictures are those that the example's rehearsals post, and each is short before
// its folds.
func TestComments(t *testing.T) {
	t.Parallel()
	example := shownFile(t, "gate.pipeline.hcl")
	for name, form := range forms {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t)
			j.env = append(j.env, "GITHUB_SERVER_URL=https://github.com")
			text := strings.NewReplacer(append(form.edits, `image   = each.value.image`, "")...).Replace(example)
			if text == example {
				t.Fatal("nothing is edited")
			}
			j.write(t, "gate.pipeline.hcl", text)
			j.hub.SetFiles("server.py")
			printed := j.run(t, form.exit, nil, "run", "gate.pipeline.hcl", "--simulate=virtual", "--var", "requests=60", "--var", "repeats=4",
				"--out", "results", "--progress", "quiet")
			j.run(t, 0, nil, "comment", "--allow-simulated", "--results", "results")
			comments := j.hub.Comments()
			if len(comments) != 1 {
				t.Fatalf("%d comments:\n%s", len(comments), printed)
			}
			body := commentMarks.ReplaceAllString(comments[0].Body, "")
			body = toolNames.ReplaceAllString(runNames.ReplaceAllString(body, "Run `RUN`"), "by `pipeline`")
			body = logTimes.ReplaceAllString(body, "11-27 12:00:00")
			seen, _, _ := strings.Cut(body, "<details>")
			if words := len(strings.Fields(strings.ReplaceAll(seen, "|", " "))); words > 200 {
				t.Errorf("%d words before the folds", words)
			}
			golden.Equal(t, filepath.Join("..", "examples", "github", "comments", name+".md"), body)
		})
	}
}

func shownFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "examples", "github", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPictures: each picture shows the page that is made today of the text beside it. It needs no browser: a picture bears
// the digest of its page.
func TestPictures(t *testing.T) {
	all, err := picture.All("..")
	if err != nil || len(all) != 1+len(forms) {
		t.Fatalf("%d pictures, %v", len(all), err)
	}
	for _, p := range all {
		png, err := os.ReadFile(p.PNG)
		if err != nil {
			t.Fatal(err)
		}
		switch shows, err := picture.Shows(png); {
		case err != nil:
			t.Errorf("%s: %v", p.PNG, err)
		case shows != picture.Digest(p.Page):
			t.Errorf("%s shows another page than that of today: make pictures", p.PNG)
		}
	}
}
