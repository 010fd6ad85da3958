// Package curves takes from a result document what its sides did under rising load: latency
// over request rate or concurrency, and the tokens per second that a user sees over those that
// a GPU gives. The points are cells that differ in their load alone, or the loads that a search
// tried.
//
//	for _, chart := range curves.Of(doc) {
//		for _, line := range chart.Lines {
//			e, ok := line.Points[0].Estimate(chart.Latencies[0])
//
// An estimate is over launches, which are the units that vary independently: requests and passes
// of one launch are one value. The package draws nothing and decides nothing.
package curves
