// Package githubtest is a fake GitHub for the tests of package github. It stores comments with
// their authors, check runs and commit statuses, splits lists into pages, enforces GitHub's limits
// on bodies, and fails on request in the ways that GitHub does.
//
//	s := githubtest.New()
//	defer s.Close()
//	s.AddPullRequest(githubtest.PullRequest{Number: 7, HeadSHA: sha, HeadRepo: "o/r"})
//	s.Fail("POST comments", githubtest.LoseReply)
//
// It validates requests only as far as tests here need; `make contract` checks them against
// GitHub's whole description.
package githubtest
