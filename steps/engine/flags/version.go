package flags

import (
	"slices"
	"strconv"
	"strings"
)

// Compare compares dotted versions by their first three numbers; what follows a number
// ("rc1", "post1", "+cpu") does not count.
func Compare(a, b string) int {
	return slices.Compare(numbers(a), numbers(b))
}

// IsVersion reports whether text begins with two numbers, as 0.11 and v0.6.4.post1 do.
func IsVersion(text string) bool {
	major, rest, dotted := strings.Cut(strings.TrimPrefix(text, "v"), ".")
	return dotted && leading(major) == len(major) && major != "" && leading(rest) > 0
}

func numbers(v string) []int {
	out := make([]int, 0, 3)
	for part := range strings.SplitSeq(strings.TrimPrefix(v, "v"), ".") {
		end := leading(part)
		n, err := strconv.Atoi(part[:end])
		if err != nil || len(out) == 3 {
			break
		}
		out = append(out, n)
		if end < len(part) {
			break
		}
	}
	for len(out) < 3 {
		out = append(out, 0)
	}
	return out
}

// leading counts the digits at the begin of s.
func leading(s string) int {
	end := 0
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	return end
}
