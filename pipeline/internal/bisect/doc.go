// Package bisect searches an ordered list of candidates, commits mostly, for the one that made a
// server slower. The arithmetic is that of gates/culprit; this package knows how candidates
// are listed and built, what is measured next, and what a search leaves behind:
//
//	OUT/search.json     what is searched, and by which file
//	OUT/journal.jsonl   what was found so far, a line for each measurement, synced
//	OUT/runs/N          the run directory of each measurement
//	OUT/builds/COMMIT   checkouts with their builds, removed in the end
//	OUT/logs/COMMIT.log what builds printed
//
// First the ends are set against each other by the file's own gates. Then each probe is a
// session of one pair, the good end and a candidate, in which the search sees the difference of
// one metric. A measurement is made again where it was cut off, and is never made twice.
package bisect
