package convert

// genAIPerf is aiperf's predecessor. Its CSV is read by readSections, and its JSON is no result
// of another shape than aiperf's.
var genAIPerf = Tool{Name: "genai-perf", Releases: "0.0.16", Command: `genai-perf\s+profile`}
