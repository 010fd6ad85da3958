// Package bisect searches an ordered list of candidates, usually commits, for the one that made a server
// slower. Package gates/culprit does the arithmetic. This package lists and builds candidates, chooses the next
// measurement, and stores the search:
//
//	OUT/search.json     what is searched, and with which file
//	OUT/journal.jsonl   the findings so far, one line per measurement, synced
//	OUT/runs/N          the run directory of each measurement
//	OUT/builds/COMMIT   checkouts with their builds, removed at the end
//	OUT/logs/COMMIT.log output of builds
//
// First it compares the two ends with the file's own gates. Each probe is then a session of one pair, the good
// end and a candidate, which yields the difference of one metric. An interrupted measurement is repeated, a
// completed one never.
package bisect
