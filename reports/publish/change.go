package publish

// Rights are the rights of a job, as derived from its event.
type Rights int

const (
	// RightsUnknown is for events that this program does not know. They count as the most dangerous.
	RightsUnknown Rights = iota
	// RightsOfMembers means that only users with write access can start the event, or that the job runs only the
	// default branch.
	RightsOfMembers
	// RightsOfChange means that the job runs the code of an unmerged change.
	RightsOfChange
	// RightsOfDefault means that anyone can start the event, and the job has the token and the secrets of the default
	// branch.
	RightsOfDefault
)

// Change describes the change that a job is about, according to its event.
type Change struct {
	Event  string
	Rights Rights
	// Unmerged is set if the job is about a change that is not merged, or may not be. Queued is set if the job is the
	// last one before the merge.
	Unmerged, Queued bool
	// Number is the number of the pull request and Base its target branch; 0 and "" if unknown.
	Number int
	Base   string
	// Head is the commit of the pull request, "" if unknown.
	Head string
	// Commit is the commit that the job checks out, and Branch its branch; "" if the service does not tell.
	Commit, Branch string
	// Job names the job in its workflow or pipeline, and Attempt counts its tries; "" and 0 if unknown.
	Job     string
	Attempt int
	// Actor is the account that started the job, "" if unknown.
	Actor string
	// Repo is the repository of the job, From the repository of the change; "" if unknown.
	Repo, From string
	// DefaultBranch is the default branch of the repository; main if unknown.
	DefaultBranch string
	// Refused is the reason why the job must not run the code of the change, nil if it may. RefusedRun is set to it where
	// `pipeline run` itself refuses; on GitHub the action does, before it calls that.
	Refused, RefusedRun error
}
