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
	// beside is set for a service that publishes wherever the file has a report block of it, beside the service of
	// the job.
	beside bool
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

// gitlabReport returns the report block of GitLab.
func gitlabReport() steps.Kind {
	return steps.Kind{
		Block: "report", Name: "gitlab", Doc: "A note on the merge request.", Schema: steps.Schema{Attrs: []steps.Attr{
			{Name: "comment", Type: cty.String, Enum: enum.Of(publish.CommentUpdate, publish.CommentDeleteAndNew, publish.CommentNew,
				publish.CommentNever), Doc: "What becomes of the notes of earlier pipelines; update (one note, kept up to date) unless set."},
			{Name: "key", Type: cty.String, Doc: "Distinguishes several reports on one merge request; the block's name unless set."},
		}},
	}
}

// buildkiteReport returns the report block of Buildkite.
func buildkiteReport() steps.Kind {
	return steps.Kind{
		Block: "report", Name: "buildkite", Doc: "An annotation of the build.", Schema: steps.Schema{Attrs: []steps.Attr{
			{Name: "comment", Type: cty.String, Enum: enum.Of(publish.CommentUpdate, publish.CommentNever),
				Doc: "update (one annotation of all jobs that report on the file) unless set."},
			{Name: "key", Type: cty.String, Doc: "Distinguishes several annotations of one build; the block's name unless set."},
		}},
	}
}

// webhookReport returns the report block of webhooks.
func webhookReport() steps.Kind {
	return steps.Kind{
		Block: "report", Name: "webhook", Doc: "The verdict as JSON, posted to an address: Slack, Mattermost and Discord show its text.",
		Schema: steps.Schema{Attrs: []steps.Attr{
			{Name: "url_env", Type: cty.String, Required: true,
				Doc: "Environment variable that holds the address; its name begins with PIPELINE_WEBHOOK. " +
					"Nothing is posted without it."},
			{Name: "token_env", Type: cty.String,
				Doc: "Environment variable with a token for the header Authorization; its name begins " +
					"with PIPELINE_WEBHOOK, too."},
			{Name: "when", Type: cty.String, Enum: enum.Of(publish.WhenAlways, publish.WhenFails),
				Doc: "always, or fails: only if the run exits with a status above 0; always unless set."},
		}},
	}
}
