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
	// field matches a setting of a connection string (AccountKey=…;), of a query (&sig=…) or of
	// libpq (password=… host=…).
	field = lazyregexp.New(`([A-Za-z][A-Za-z0-9_. -]*?)\s*=\s*("[^"]*"|'[^']*'|[^;&\s"']+)`)
	// scheme matches the value of a header.
	scheme = lazyregexp.New(`^(?i)(bearer|basic|token|apikey|api-key|negotiate|digest)[ :]+(\S.*)$`)
)

// Within returns the secrets in a text by its form: the password of an address, the keys of a
// connection string or a query, the part after the scheme of a header, and the fields of a JSON
// object.
func Within(value string) []string {
	var out []string
	for _, re := range []*lazyregexp.Regexp{userinfo, userinfoLoose, driverDSN} {
		for _, m := range re.FindAllStringSubmatch(value, -1) {
			out = append(out, fromUserinfo(m[1])...)
		}
	}
	if m := scheme.FindStringSubmatch(strings.TrimSpace(value)); m != nil {
		out = append(out, fromHeader(m[1], strings.TrimSpace(m[2]))...)
	}
	for _, m := range field.FindAllStringSubmatch(value, -1) {
		text := strings.Trim(m[2], `"'`)
		if s := strengthOf(lastWords(m[1])); s > none && !harmless(text, s) {
			out = append(out, text)
			if plain, err := url.QueryUnescape(text); err == nil && plain != text {
				out = append(out, plain)
			}
		}
	}
	if strings.HasPrefix(strings.TrimSpace(value), "{") {
		var object map[string]any
		if json.Unmarshal([]byte(value), &object) == nil {
			out = append(out, fromObject(object)...)
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

// fromHeader returns the part after the scheme of a header, and the password of a basic one.
func fromHeader(scheme, rest string) []string {
	if len(rest) < 6 {
		return nil
	}
	out := []string{rest}
	if strings.EqualFold(scheme, "basic") {
		if plain, err := base64.StdEncoding.DecodeString(rest); err == nil {
			if _, password, ok := strings.Cut(string(plain), ":"); ok && len(password) >= 6 {
				out = append(out, password)
			}
		}
	}
	return out
}

func fromObject(object map[string]any) []string {
	var out []string
	for name, v := range object {
		switch v := v.(type) {
		case string:
			out = append(out, Values(name, v)...)
		case map[string]any:
			out = append(out, fromObject(v)...)
		}
	}
	return out
}
