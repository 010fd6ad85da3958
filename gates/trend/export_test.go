package trend

// DetectBy is Detect with fewer permutations.
var DetectBy = detect
