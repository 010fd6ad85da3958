package cli

import (
	"github.com/servegate/pipeline/reports/publish"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/enum"
	"github.com/zclconf/go-cty/cty"
)

// publisher is a kind of service where verdicts are published: its report block and its publisher.
type publisher struct {
	report steps.Kind
	open   publish.Kind
}

// githubReport returns the report block of GitHub.
func githubReport() steps.Kind {
	return steps.Kind{
		Block: "report", Name: "github", Doc: "A comment on the pull request and a check run.", Schema: steps.Schema{Attrs: []steps.Attr{
			{Name: "comment", Type: cty.String, Enum: enum.Of(publish.CommentModes()...),
				Doc: "What becomes of the comments of earlier runs; update (one comment, kept up to date) unless set."},
			{Name: "key", Type: cty.String, Doc: "Distinguishes several reports on one pull request; the block's name unless set."},
			{Name: "check", Type: cty.String, Blank: true,
				Doc: "Name of the check run, \"\" for none; pipeline/NAME after the block's name unless set."},
			{Name: "status", Type: cty.String, Blank: true, Doc: "Context of a commit status; none unless set."},
		}},
	}
}
