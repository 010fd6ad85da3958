package buildkite

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/reports/publish"
)

var (
	commitHash = lazyregexp.New(`^[0-9a-f]{40}([0-9a-f]{24})?$`)
	// repository matches the address of a repository: git@HOST:OWNER/NAME.git, https://HOST/OWNER/NAME.git,
	// ssh://git@HOST/OWNER/NAME.
	repository = lazyregexp.New(`^(?:https?://(?:[^@/]+@)?|ssh://(?:[^@/]+@)?|git://|git@)([A-Za-z0-9.-]+)(?::[0-9]+)?[:/]` +
		`([A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)+)/?$`)
	webPage = lazyregexp.New(`^https://[A-Za-z0-9.-]+(/[A-Za-z0-9_./-]+)?$`)
)

// forge is the repository of a build on the host of its code.
type forge struct{ host, path string }

func forgeOf(address string) forge {
	if parts := repository.FindStringSubmatch(address); parts != nil {
		return forge{parts[1], strings.TrimSuffix(parts[2], ".git")}
	}
	return forge{}
}

// changeOf returns the change that a job is about.
func changeOf(getenv func(string) string) publish.Change {
	own, from := forgeOf(getenv("BUILDKITE_REPO")), forgeOf(getenv("BUILDKITE_PULL_REQUEST_REPO"))
	c := publish.Change{
		Event: cmp.Or(getenv("BUILDKITE_SOURCE"), "unknown"), Repo: own.path,
		DefaultBranch: cmp.Or(getenv("BUILDKITE_PIPELINE_DEFAULT_BRANCH"), "main"),
		Commit:        getenv("BUILDKITE_COMMIT"), Branch: getenv("BUILDKITE_BRANCH"), Job: legOf(getenv).Job,
		Actor:   getenv("BUILDKITE_BUILD_CREATOR"),
		Attempt: attempt(getenv), Rights: publish.RightsOfMembers,
	}
	request := getenv("BUILDKITE_PULL_REQUEST")
	if number, err := strconv.Atoi(request); err == nil && number > 0 {
		c.Rights, c.Unmerged, c.Number = publish.RightsOfChange, true, number
		c.Base, c.Head, c.Branch = getenv("BUILDKITE_PULL_REQUEST_BASE_BRANCH"), c.Commit, ""
		c.From = from.path
		if from == (forge{}) || from != own {
			c.Refused = errors.New("the pull request comes from a fork, and an agent lives on after its build: review it first (a block step), " +
				"and set --allow-untrusted")
		}
	} else if request != "false" { // the agent always sets it
		c.Rights, c.Unmerged = publish.RightsUnknown, true
		c.Refused = fmt.Errorf("BUILDKITE_PULL_REQUEST is %q: whether the build is of a fork is unknown; set --allow-untrusted", request)
	}
	c.Queued = strings.HasPrefix(getenv("BUILDKITE_BRANCH"), "gh-readonly-queue/")
	if c.Queued {
		c.Rights, c.Unmerged = publish.RightsOfChange, true
	}
	c.RefusedRun = c.Refused
	return c
}

// attempt returns how often the job was tried.
func attempt(getenv func(string) string) int {
	n, err := strconv.Atoi(getenv("BUILDKITE_RETRY_COUNT"))
	if err != nil || n < 0 {
		return 0
	}
	return n + 1
}

// legOf returns the leg that a job is. Jobs of a matrix differ in their label alone, parallel ones in their number.
func legOf(getenv func(string) string) publish.Leg {
	label := getenv("BUILDKITE_LABEL")
	l := publish.Leg{Job: cmp.Or(getenv("BUILDKITE_STEP_KEY"), getenv("BUILDKITE_STEP_ID"), label)}
	if count := getenv("BUILDKITE_PARALLEL_JOB_COUNT"); count != "" {
		label = strings.TrimSpace(label + " " + getenv("BUILDKITE_PARALLEL_JOB"))
	}
	if label != l.Job {
		l.Matrix, l.Values = label, []string{label}
	}
	return l
}
