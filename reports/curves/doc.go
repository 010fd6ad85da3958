// Package curves extracts from a result document how its sides behaved under rising load: latency
// over request rate or concurrency, and the tokens per second of a user over those of a GPU. The
// points are cells that only differ in their load, or the loads that a search tried.
//
//	for _, chart := range curves.Of(doc) {
//		for _, line := range chart.Lines {
//			e, ok := line.Points[0].Estimate(chart.Latencies[0])
//
// An estimate is over launches, which are the units that vary independently: requests and passes of
// one launch form one value. Section draws them for a page. The package decides nothing.
package curves
