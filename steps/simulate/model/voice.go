package model

import "math"

// Voice determines the words of a model's answers. They are equal in every launch, except for the
// noise of real engines and for deliberately corrupted answers. The zero value has neither.
type Voice struct {
	// Model seeds the words, and Launch the noise.
	Model, Launch uint64
	// Diverge is the share of prompts whose answer differs at one token in a launch. The rest of
	// the answer then differs too, as after two equally likely tokens.
	Diverge float64
	// Jitter is the standard deviation of log-probabilities between launches, in nats.
	Jitter float64
	// Corrupt is the share of prompts that are answered wrongly, the same ones in each launch.
	Corrupt float64
}

// VoiceOf returns the voice of a model by its name.
func VoiceOf(name string) Voice {
	ids := make([]int, len(name))
	for i := range len(name) {
		ids[i] = int(name[i])
	}
	return Voice{Model: Hash(0, ids)}
}

// turns holds the deviations of one answer: the hash of its prompt, which enters the draw of every
// token, and the positions of the diverging and the corrupted token, -1 for none.
type turns struct {
	prompt           uint64
	diverge, corrupt int
}

// corruption separates the draws of corruption from the draws of noise.
const corruption = 0x636f7272

// turnsOf draws the deviations of the answer to a prompt, with a length in tokens.
func (v Voice) turnsOf(prompt []int, length int) turns {
	draw := func(seed uint64, share float64) int {
		if share <= 0 || length < 1 {
			return -1
		}
		h := Hash(seed, prompt) >> 1
		if float64(h%1e6)/1e6 >= share {
			return -1
		}
		return int(h / 1e6 % uint64(length))
	}
	return turns{Hash(v.Model, prompt), draw(v.Launch, v.Diverge), draw(v.Model^corruption, v.Corrupt)}
}

// next returns the i-th token of an answer, after a text of a length in tokens that ends with ids, at least near of them.
func (v Voice) next(ids []int, length, i int, t turns) int {
	salt := t.prompt
	if i == t.corrupt {
		salt ^= corruption
	}
	if i == t.diverge {
		salt ^= v.Launch | 1
	}
	return nextToken(salt, ids, length)
}

// Say returns the answer to a prompt, in n tokens.
func (v Voice) Say(prompt []int, n int) []int {
	ids := append(make([]int, 0, len(prompt)+n), prompt...)
	t := v.turnsOf(prompt, n)
	for i := range n {
		ids = append(ids, v.next(ids, len(ids), i, t))
	}
	return ids[len(prompt):]
}

// Logprob returns the log-probability of the token after a context.
func (v Voice) Logprob(context []int) float64 {
	end := context[max(0, len(context)-near):]
	p := -1.5 * unit(Hash(v.Model^uint64(len(context)), end))
	if v.Jitter > 0 {
		h := Hash(v.Launch^uint64(len(context)), end)
		p += v.Jitter * math.Sqrt(-2*math.Log(unit(h))) * math.Cos(2*math.Pi*unit(Hash(h, nil)))
	}
	return min(p, -1e-6)
}

// unit converts a hash, whose lowest bit is always set, to a number in (0, 1].
func unit(h uint64) float64 { return (float64(h>>12) + 1) / (1 << 52) }
