// Package githubtest is GitHub as far as package github needs it, for tests: it keeps
// comments with their authors, check runs and commit statuses, splits lists into pages,
// holds bodies to GitHub's limits, and fails in the ways that GitHub does when it is asked
// to.
//
//	s := githubtest.New()
//	defer s.Close()
//	s.AddPullRequest(githubtest.PullRequest{Number: 7, HeadSHA: sha, HeadRepo: "o/r"})
//	s.Fail("POST comments", githubtest.LoseReply)
//
// What is sent to it is checked no further than tests here need; the whole of GitHub's
// description is what `make contract` checks requests against.
package githubtest
