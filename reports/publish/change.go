package publish

// Rights of a job, as its event gives them.
type Rights int

const (
	// RightsUnknown are those of events that this program does not know. They count as
	// the most dangerous ones.
	RightsUnknown Rights = iota
	// RightsOfMembers: only who may write to the repository starts the event, or its job runs
	// nothing but the default branch.
	RightsOfMembers
	// RightsOfChange: the job runs the code of a change that is not merged.
	RightsOfChange
	// RightsOfDefault: anybody starts the event, and its job has the token and the secrets of
	// the default branch.
	RightsOfDefault
)

// Change is what the event of a job says of the change that the job is about.
type Change struct {
	Event  string
	Rights Rights
	// Unmerged is set where the job is about a change that is not merged, or may be. Queued is set
	// where it is the last before it is.
	Unmerged, Queued bool
	// Number of the pull request and the branch that it is for; 0 and "" if unknown.
	Number int
	Base   string
	// Head is the commit of the pull request, "" if unknown.
	Head string
	// Repo that the job belongs to, From where the change comes; "" if unknown.
	Repo, From string
	// DefaultBranch of the repository; main if unknown.
	DefaultBranch string
	// Refused is why the job must not run the code of the change, nil if it may.
	Refused error
}
