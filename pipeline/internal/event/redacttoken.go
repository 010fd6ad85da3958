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
}

// shapes lists services whose tokens reach inference servers and their runners. They are narrow:
// digests, base64 texts and names with hyphens do not match.
var shapes = []shape{
	{"hf_", &alnum, 30, 0, false},                                  // Hugging Face
	{"ghp_", &alnum, 36, 0, false}, {"gho_", &alnum, 36, 0, false}, // GitHub
	{"ghu_", &alnum, 36, 0, false}, {"ghs_", &alnum, 36, 0, false}, {"ghr_", &alnum, 36, 0, false},
	{"github_pat_", &word, 50, 0, false},
	{"glpat-", &dashed, 20, 0, true},   // GitLab
	{"sk-", &dashed, 32, 0, true},      // OpenAI and its like
	{"nvapi-", &dashed, 40, 0, false},  // NVIDIA
	{"AKIA", &capitals, 16, 16, false}, // AWS
	{"ASIA", &capitals, 16, 16, true},  // AWS, temporary
	{"AIza", &dashed, 35, 35, false},   // Google
	{"Bearer ", &bearer, 20, 0, true}, {"bearer ", &bearer, 20, 0, true},
}

// tokenBegins are the bytes that a token starts with.
var tokenBegins = func() (set [256]bool) {
	for i := range shapes {
		set[shapes[i].prefix[0]] = true
	}
	return set
}()

// The characters of tokens.
var (
	alnum    = charset("")
	word     = charset("_")
	dashed   = charset("_-")
	bearer   = charset("_-.~+/=")
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
// none. wait is set if more bytes are needed.
func token(before byte, rest []byte, final bool) (n int, wait bool) {
	if word[before] {
		return 0, false
	}
	for i := range shapes {
		n, wait := shapes[i].match(rest, final)
		if n > 0 || wait {
			return n, wait
		}
	}
	return 0, false
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
	return len(s.prefix) + count, false
}
