package gitlab

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
	"github.com/servegate/pipeline/reports/publish"
)

// event describes why a job runs, from GitLab's predefined variables.
type event struct {
	// project is the ID of the job's project; target and from are those of the merge request and of its branch, "" for
	// a job of no merge request.
	project, target, from string
	// number of the merge request in its project, 0 for none.
	number int64
	// sha is the head of the merge request, never the merge commit of a merged-results pipeline.
	sha, base string
	// projectURL and sourceURL are the pages of the two projects.
	projectURL, sourceURL string
	pipeline              int64
	job                   int
	jobURL                string
}

var (
	digits     = lazyregexp.New(`^[0-9]{1,18}$`)
	commitHash = lazyregexp.New(`^[0-9a-f]{40}([0-9a-f]{24})?$`)
	webPage    = lazyregexp.New(`^https?://[A-Za-z0-9.:-]+(/[A-Za-z0-9_./-]+)?$`)
)

// errNoJob reports that the program does not run as a job of GitLab.
var errNoJob = errors.New("not a GitLab job: CI_PROJECT_ID and CI_COMMIT_SHA are not set")

// readEvent reads the variables of a job. It returns an error for values that are not valid in an address.
func readEvent(getenv func(string) string) (event, error) {
	e := event{
		project: getenv("CI_PROJECT_ID"), target: getenv("CI_MERGE_REQUEST_PROJECT_ID"),
		from: getenv("CI_MERGE_REQUEST_SOURCE_PROJECT_ID"), sha: cmp.Or(getenv("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA"), getenv("CI_COMMIT_SHA")),
		base:       getenv("CI_MERGE_REQUEST_DIFF_BASE_SHA"),
		projectURL: cmp.Or(getenv("CI_MERGE_REQUEST_PROJECT_URL"), getenv("CI_PROJECT_URL")),
		sourceURL:  cmp.Or(getenv("CI_MERGE_REQUEST_SOURCE_PROJECT_URL"), getenv("CI_PROJECT_URL")), jobURL: getenv("CI_JOB_URL"),
	}
	if e.project == "" || e.sha == "" {
		return event{}, errNoJob
	}
	e.number, _ = strconv.ParseInt(getenv("CI_MERGE_REQUEST_IID"), 10, 64) // not a number: no merge request
	e.pipeline, _ = strconv.ParseInt(getenv("CI_PIPELINE_ID"), 10, 64)
	e.job, _ = strconv.Atoi(getenv("CI_JOB_ID"))
	switch {
	case !commitHash.MatchString(e.sha):
		return event{}, fmt.Errorf("the job's commit %q must be the hash of a commit", e.sha)
	case e.base != "" && !commitHash.MatchString(e.base):
		return event{}, fmt.Errorf("the merge request's base %q must be the hash of a commit", e.base)
	case e.number > 0 && !digits.MatchString(e.target):
		return event{}, fmt.Errorf("CI_MERGE_REQUEST_PROJECT_ID %q must be a number", e.target)
	}
	for _, url := range []*string{&e.projectURL, &e.sourceURL, &e.jobURL} {
		if !webPage.MatchString(*url) {
			*url = "" // no link
		}
	}
	return e, nil
}

// fork reports whether the merge request comes from another project. An unknown project counts as another: a deleted
// fork has none.
func (e event) fork() bool { return e.number > 0 && e.from != e.target }

// sources lists the pipeline sources whose jobs only members can start, or that run protected code.
var sources = []string{"push", "web", "schedule", "api", "trigger", "pipeline", "chat", "webide", "security_orchestration_policy",
	"ondemand_dast_scan", "ondemand_dast_validation", "duo_workflow"}

// changeOf returns the change that a job is about.
func changeOf(getenv func(string) string) publish.Change {
	c := publish.Change{
		Event: getenv("CI_PIPELINE_SOURCE"), Repo: getenv("CI_PROJECT_PATH"), DefaultBranch: cmp.Or(getenv("CI_DEFAULT_BRANCH"), "main"),
		Commit: getenv("CI_COMMIT_SHA"), Branch: getenv("CI_COMMIT_BRANCH"), Actor: getenv("GITLAB_USER_LOGIN"),
	}
	c.Job = legOf(getenv).Job
	e, err := readEvent(getenv)
	switch {
	case err != nil:
		c.Unmerged = true
	case e.number > 0:
		c.Rights, c.Unmerged, c.Number = publish.RightsOfChange, true, int(e.number)
		c.Base, c.Head = getenv("CI_MERGE_REQUEST_TARGET_BRANCH_NAME"), e.sha
		c.Repo, c.From = getenv("CI_MERGE_REQUEST_PROJECT_PATH"), getenv("CI_MERGE_REQUEST_SOURCE_PROJECT_PATH")
		c.Queued = getenv("CI_MERGE_REQUEST_EVENT_TYPE") == "merge_train"
	case slices.Contains(sources, c.Event):
		c.Rights = publish.RightsOfMembers
	default:
		c.Unmerged = true
	}
	c.Refused = refusal(c, e)
	c.RefusedRun = c.Refused
	return c
}

// refusal returns why a job must not run the code of its change, nil if it may.
func refusal(c publish.Change, e event) error {
	switch {
	case !c.Unmerged:
		return nil
	case c.Rights == publish.RightsUnknown:
		return fmt.Errorf("the pipeline source %q is not one of those that are known to be safe, and a pipeline file starts programs: "+
			"measure in a merge request pipeline, or set --allow-untrusted", c.Event)
	case e.fork() && e.project == e.target:
		return errors.New("the merge request comes from a fork, and its pipeline in the parent project has the parent's variables and " +
			"runners: review it first, and set --allow-untrusted")
	}
	return nil
}

// matrixJob matches the name of a job of `parallel: matrix`: "measure: [h100, 2]".
var matrixJob = lazyregexp.New(`^(.+): \[(.+)\]$`)

// legOf returns the leg that a job is: one of a matrix, or one of several parallel jobs ("measure 1/3").
func legOf(getenv func(string) string) publish.Leg {
	l := publish.Leg{Job: getenv("CI_JOB_NAME")}
	if parts := matrixJob.FindStringSubmatch(l.Job); parts != nil {
		l.Job, l.Matrix, l.Values = parts[1], parts[2], strings.Split(parts[2], ", ")
		return l
	}
	if name, part, ok := strings.Cut(l.Job, " "+getenv("CI_NODE_INDEX")+"/"); ok && part == getenv("CI_NODE_TOTAL") && part != "" {
		l.Job, l.Matrix = name, getenv("CI_NODE_INDEX")+"/"+part
		l.Values = []string{l.Matrix}
	}
	return l
}
