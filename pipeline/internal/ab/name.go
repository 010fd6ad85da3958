package ab

import (
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

// names returns how the sides are called: by what differs. base and head differ in their sources or in args.
func names(base, head source, args []argument) (was, is string) {
	if base.differs(head) {
		was, is = sourceNames(base, head)
		return was, strings.TrimSpace(is + " " + argNames(args, false))
	}
	if was, is = argNames(args, true), argNames(args, false); was == is {
		return "base", "head" // values too long to name
	}
	return was, is
}

// sourceNames names two different sources.
func sourceNames(base, head source) (was, is string) {
	switch {
	case base.commit != "":
		return refName(base), refName(head)
	case base.kind == executable:
		was, is = differing(strings.Fields(base.text), strings.Fields(head.text), " ")
		if strings.Contains(was+is, " ") {
			return distinct(was, is, base.text, head.text)
		}
	case base.kind == address:
		was, is = withoutScheme(base.text), withoutScheme(head.text)
	default:
		was, is = shortDigest(base.text), shortDigest(head.text)
	}
	was, is = differing(strings.Split(was, "/"), strings.Split(is, "/"), "/")
	if repository, tag, ok := strings.Cut(was, ":"); ok && base.kind != address { // a port alone is no name
		if other, otherTag, ok := strings.Cut(is, ":"); ok && repository == other {
			was, is = tag, otherTag
		}
	}
	return distinct(was, is, base.text, head.text)
}

// differing returns the parts of two texts between the beginning and the end that they share.
func differing(a, b []string, separator string) (string, string) {
	for len(a) > 1 && len(b) > 1 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 1 && len(b) > 1 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return strings.Join(a, separator), strings.Join(b, separator)
}

// distinct returns a and b if they can name two sides, else the whole texts.
func distinct(a, b, wholeA, wholeB string) (string, string) {
	if a == b || a == "" || b == "" {
		return wholeA, wholeB
	}
	return a, b
}

func withoutScheme(address string) string {
	_, rest, _ := strings.Cut(address, "://")
	return strings.TrimSuffix(rest, "/")
}

var digest = lazyregexp.New(`(:[\w][\w.-]*)?@?sha256:([0-9a-f]{12})[0-9a-f]*$`)

// shortDigest writes the digest of an image like a tag: its first twelve digits.
func shortDigest(image string) string {
	if m := digest.FindStringSubmatchIndex(image); m != nil {
		return strings.TrimPrefix(image[:m[0]]+":"+image[m[4]:m[5]], ":")
	}
	return image
}

// refName names a git ref: as it is, or by the beginning of its commit if it is relative to another.
func refName(s source) string {
	if strings.ContainsAny(s.text, "~^@:") || strings.Contains(s.text, "HEAD") || s.text == s.commit {
		return s.commit[:min(9, len(s.commit))]
	}
	return s.text
}

// longValue is the length from which the value of an argument is left out of a name.
const longValue = 24

// argNames names the values that arguments have on one side.
func argNames(args []argument, base bool) string {
	var parts []string
	for _, a := range args {
		value := a.head
		if base {
			value = a.base
		}
		written := strings.Trim(text(value), `"`)
		switch {
		case value == nil && base:
		case value == true, len(written) > longValue:
			parts = append(parts, a.name)
		default:
			parts = append(parts, a.name+"="+written)
		}
	}
	if len(parts) == 0 && base {
		return "defaults"
	}
	return strings.Join(parts, " ")
}
