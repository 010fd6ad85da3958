package secret

import (
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/servegate/pipeline/internal/lazyregexp"
)

var (
	// userinfo matches the part before the host of an address.
	userinfo = lazyregexp.New(`[A-Za-z][A-Za-z0-9+.-]*://([^\s"'<>/?#@]*)@`)
	// userinfoLoose accepts passwords with unescaped characters.
	userinfoLoose = lazyregexp.New(`[A-Za-z][A-Za-z0-9+.-]*://([^\s"'<>/@:]*:[^\s"'<>]+)@`)
	// driverDSN matches user and password as in Go's database drivers.
	driverDSN = lazyregexp.New(`^([^\s:/@]+:[^\s/]\S*)@[A-Za-z0-9.-]*(?:\(|:[0-9]+|/)`)
	port      = lazyregexp.New(`^[0-9]{1,5}/`)
	// imageDigest matches what follows the tag of an image (python:3.12-slim@sha256:…).
	imageDigest = lazyregexp.New(`^@sha(?:256|384|512):`)
	// field matches a setting of a connection string (AccountKey=…;), of a query (&sig=…) or of
	// libpq (password=… host=…).
	field = lazyregexp.New(`([A-Za-z][A-Za-z0-9_. -]*?)\s*=\s*("[^"]*"|'[^']*'|[^;&\s"']+)`)
	// scheme matches the value of a header.
	scheme = lazyregexp.New(`^(?i)(bearer|basic|token|apikey|api-key|negotiate|digest)[ :]+(\S.*)$`)
)

// Within returns the secrets in a text by its form: the password of an address, the keys of a
// connection string or a query, the part after the scheme of a header, the fields of a JSON
// document, and the lines of headers, YAML and netrc.
func Within(value string) []string {
	var out []string
	for _, re := range []*lazyregexp.Regexp{userinfo, userinfoLoose, driverDSN} {
		for _, m := range re.FindAllStringSubmatchIndex(value, -1) {
			if info, rest := value[m[2]:m[3]], value[m[3]:]; !imageDigest.MatchString(rest) {
				out = append(out, fromUserinfo(info)...)
			}
		}
	}
	out = append(out, fromScheme(value)...)
	out = append(out, inLines(value)...)
	for _, m := range field.FindAllStringSubmatch(value, -1) {
		text := strings.Trim(m[2], `"'`)
		if s := strengthOf(lastWords(m[1])); s > none && !harmless(text, s) {
			out = append(out, text)
			if plain, err := url.QueryUnescape(text); err == nil && plain != text {
				out = append(out, plain)
			}
		}
	}
	if text := strings.TrimSpace(value); strings.HasPrefix(text, "{") || strings.HasPrefix(text, "[") {
		var document any
		if json.Unmarshal([]byte(value), &document) == nil {
			out = append(out, fromJSON("", document)...)
		}
	}
	return out
}

// lastWords returns the name of a setting: in "host=db password", which libpq allows, the last
// word; in "Account Key" both.
func lastWords(name string) string {
	if parts := strings.Fields(name); len(parts) > 2 {
		return strings.Join(parts[len(parts)-2:], "_")
	}
	return name
}

// fromUserinfo returns the password of user:password as written and unescaped, and with its user as
// in headers. A user alone is a token (https://ghp_…@github.com) if it looks random.
func fromUserinfo(info string) []string {
	user, password, ok := strings.Cut(info, ":")
	if port.MatchString(password) {
		return nil // a host without user, and an at sign later
	}
	if !ok || password == "" {
		if random(user) && len(user) >= 16 {
			return []string{user}
		}
		return nil
	}
	if len(password) < 6 {
		return []string{info} // too short to mask without its user
	}
	out := []string{password, base64.StdEncoding.EncodeToString([]byte(info))}
	if plain, err := url.PathUnescape(password); err == nil && plain != password {
		out = append(out, plain)
	}
	return out
}

// fromScheme returns the secrets of the value of a header that begins with a scheme.
func fromScheme(value string) []string {
	if m := scheme.FindStringSubmatch(strings.TrimSpace(value)); m != nil {
		return fromHeader(m[1], strings.TrimSpace(m[2]))
	}
	return nil
}

// fromHeader returns the part after the scheme of a header, and the password of a basic one. It returns nothing for
// prose, such as "Basic comparison" and "token limit of the head".
func fromHeader(scheme, rest string) []string {
	if len(rest) < 6 || strings.ContainsAny(rest, " \t\n") || lower.MatchString(rest) {
		return nil
	}
	basic := strings.EqualFold(scheme, "basic")
	if reference.MatchString(rest) || !basic && harmless(rest, strong) {
		return nil
	}
	out := []string{rest}
	if basic {
		if plain, err := base64.StdEncoding.DecodeString(rest); err == nil {
			if _, password, ok := strings.Cut(string(plain), ":"); ok && len(password) >= 6 {
				out = append(out, password)
			}
		}
	}
	return out
}

// fromJSON returns the secrets of a JSON document, in which a value has the name of its field.
func fromJSON(name string, v any) []string {
	var out []string
	switch v := v.(type) {
	case string:
		return Values(name, v)
	case map[string]any:
		for name, inner := range v {
			out = append(out, fromJSON(name, inner)...)
		}
	case []any:
		for _, inner := range v {
			out = append(out, fromJSON(name, inner)...)
		}
	}
	return out
}
