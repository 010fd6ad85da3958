package convert

// genAIPerf is the predecessor of aiperf. readSections reads its CSV. Its JSON has no shape of its
// own here.
var genAIPerf = Tool{Name: "genai-perf", Releases: "0.0.16", Command: `genai-perf\s+profile`}
