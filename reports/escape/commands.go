package escape

import (
	"regexp"
	"strings"
)

// commandLine matches the beginning of a line that a GitHub runner takes for a workflow
// command ("::error::…", also indented).
var commandLine = regexp.MustCompile(`(?m)^(\s*:):`)

// Commands breaks what a GitHub runner would carry out when text is printed into a job's
// log: "::" at the beginning of a line and "##[" anywhere (the older form). An invisible
// character between the two is enough; line breaks stay.
func Commands(text string) string {
	text = commandLine.ReplaceAllString(text, "${1}"+joiner+":")
	return strings.ReplaceAll(text, "##[", "##"+joiner+"[")
}
