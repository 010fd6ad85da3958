package kv

import (
	"regexp"
	"strconv"
	"strings"
)

// version is the release numbers of an engine; nil is the newest one. What is no
// release ("nightly", a commit) counts as the newest.
type version []int

var release = regexp.MustCompile(`^v?(\d{1,6}(?:\.\d{1,6})+)`)

func parseVersion(text string) version {
	m := release.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return nil
	}
	var v version
	for part := range strings.SplitSeq(m[1], ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return nil
		}
		v = append(v, n)
	}
	return v
}

// compare reports whether v is before, in or after the release that text names: 0.23.1 is
// in 0.23.
func (v version) compare(text string) int {
	if v == nil {
		return 1
	}
	for i, want := range parseVersion(text) {
		have := 0
		if i < len(v) {
			have = v[i]
		}
		if have != want {
			return have - want
		}
	}
	return 0
}

// within reports whether v is from one release to another, both included. An empty end is
// open.
func (v version) within(from, to string) bool {
	return (from == "" || v.compare(from) >= 0) && (to == "" || v.compare(to) <= 0)
}
