package event

import "bytes"

// shape is the form of the tokens of a service. It identifies tokens that are not known as secrets:
// a model's download script may print one that this program never saw.
type shape struct {
	prefix string
	chars  *[256]bool // characters after the prefix
	// least and most are the limits of their number, most 0 for none.
	least, most int
	// mixed requires a digit among them, if words could look the same.
	mixed bool
	// holds is a character that must be among them, end one that must follow; 0 requires nothing.
	holds, end byte
	// after keeps the prefix, and what stands before the character that must be among them: they tell what was masked.
	after bool
}

// shapes lists services whose tokens reach inference servers and their runners. They are narrow:
// digests, base64 texts and names with hyphens do not match.
var shapes = append([]shape{
	{prefix: "hf_", chars: &alnum, least: 30},                                              // Hugging Face
	{prefix: "ghp_", chars: &alnum, least: 36}, {prefix: "gho_", chars: &alnum, least: 36}, // GitHub
	{prefix: "ghu_", chars: &alnum, least: 36}, {prefix: "ghs_", chars: &alnum, least: 36}, {prefix: "ghr_", chars: &alnum, least: 36},
	{prefix: "github_pat_", chars: &word, least: 50},
	{prefix: "glpat-", chars: &dashed, least: 20, mixed: true},               // GitLab
	{prefix: "sk-", chars: &dashed, least: 32, mixed: true},                  // OpenAI and its like
	{prefix: "nvapi-", chars: &dashed, least: 40},                            // NVIDIA
	{prefix: "AKIA", chars: &capitals, least: 16, most: 16},                  // AWS
	{prefix: "ASIA", chars: &capitals, least: 16, most: 16, mixed: true},     // AWS, temporary
	{prefix: "AIza", chars: &dashed, least: 35, most: 35},                    // Google
	{prefix: "xoxb-", chars: &dashed, least: 20, mixed: true},                // Slack
	{prefix: "npm_", chars: &alnum, least: 36, most: 36},                     // npm
	{prefix: "dckr_pat_", chars: &dashed, least: 20},                         // Docker
	{prefix: "gsk_", chars: &alnum, least: 40, mixed: true},                  // Groq
	{prefix: "glsa_", chars: &word, least: 32, mixed: true},                  // Grafana
	{prefix: "eyJ", chars: &dotted, least: 40, holds: '.'},                   // JSON web tokens
	{prefix: "X-Amz-Signature=", chars: &alnum, least: 32, after: true},      // addresses that are signed
	{prefix: "X-Goog-Signature=", chars: &alnum, least: 32, after: true},     //
	{prefix: "X-Amz-Security-Token=", chars: &query, least: 20, after: true}, //
	{prefix: "sig=", chars: &query, least: 40, mixed: true, after: true},     // Azure
	{prefix: "Bearer ", chars: &bearer, least: 20, mixed: true}, {prefix: "bearer ", chars: &bearer, least: 20, mixed: true},
	{prefix: "Basic ", chars: &bearer, least: 12, mixed: true, after: true},
}, logins("http", "https", "redis", "rediss", "postgres", "postgresql", "mysql", "mongodb", "mongodb+srv", "amqp", "amqps", "ftp")...)

// logins returns the shapes of addresses with user and password.
func logins(schemes ...string) []shape {
	var out []shape
	for _, scheme := range schemes {
		out = append(out, shape{prefix: scheme + "://", chars: &userinfo, least: 3, holds: ':', end: '@', after: true})
	}
	return out
}

// tokenBegins are the bytes that a token starts with.
var tokenBegins = func() (set [256]bool) {
	for i := range shapes {
		set[shapes[i].prefix[0]] = true
	}
	return set
}()

// shapesOf are the shapes by the first byte of their prefix.
var shapesOf = func() (by [256][]*shape) {
	for i := range shapes {
		by[shapes[i].prefix[0]] = append(by[shapes[i].prefix[0]], &shapes[i])
	}
	return by
}()

// The characters of tokens.
var (
	alnum    = charset("")
	word     = charset("_")
	dashed   = charset("_-")
	dotted   = charset("_-.")
	bearer   = charset("_-.~+/=")
	query    = charset("_-.~+/=%")
	userinfo = charset("_-.~!$&'()*+,;=%:")
	capitals = func() (set [256]bool) {
		for c := range set {
			set[c] = c >= '0' && c <= '9' || c >= 'A' && c <= 'Z'
		}
		return set
	}()
)

func charset(more string) (set [256]bool) {
	for c := range set {
		set[c] = c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || bytes.IndexByte([]byte(more), byte(c)) >= 0
	}
	return set
}

// maxToken limits how much of a stream is held back for a possible token.
const maxToken = 4096

// token returns the length of the token at the start of rest, after the byte before, 0 if there is
// none, and of what stands before it and stays. wait is set if more bytes are needed.
func token(before byte, rest []byte, final bool) (n, skip int, wait bool) {
	if word[before] {
		return 0, 0, false
	}
	for _, s := range shapesOf[rest[0]] {
		n, wait := s.match(rest, final)
		if n > 0 && s.after {
			skip = len(s.prefix)
			if s.holds != 0 {
				skip += bytes.IndexByte(rest[skip:n], s.holds) + 1
			}
		}
		if n > 0 || wait {
			return n, skip, wait
		}
	}
	return 0, 0, false
}

func (s *shape) match(rest []byte, final bool) (n int, wait bool) {
	if len(rest) < len(s.prefix) {
		return 0, !final && bytes.HasPrefix([]byte(s.prefix), rest)
	}
	if string(rest[:len(s.prefix)]) != s.prefix {
		return 0, false
	}
	body := rest[len(s.prefix):min(len(rest), maxToken)]
	count, digits := 0, 0
	for count < len(body) && s.chars[body[count]] {
		if body[count] >= '0' && body[count] <= '9' {
			digits++
		}
		count++
	}
	if count == len(body) && len(rest) < maxToken && !final {
		return 0, true
	}
	if count < s.least || s.most > 0 && count > s.most || s.mixed && digits == 0 {
		return 0, false
	}
	if s.holds != 0 && bytes.IndexByte(body[:count], s.holds) < 0 || s.end != 0 && (count == len(body) || body[count] != s.end) {
		return 0, false
	}
	return len(s.prefix) + count, false
}
