package lang

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/servegate/pipeline/pipeline/internal/config"
	"github.com/servegate/pipeline/steps"
	"github.com/servegate/pipeline/steps/secret"
	"github.com/zclconf/go-cty/cty"
)

// mark is the type of this package's marks, so that no mark of another package is equal.
type mark string

// sensitive is the only mark of the language. A value that carries it reaches only arguments that their schema
// calls sensitive.
const sensitive mark = "sensitive"

// leastSecret is the length of the shortest text that is treated as a secret. Hiding shorter ones would blank
// out ordinary words.
const leastSecret = 6

// markedPart finds the first marked part of a value. part is its key, such as "HF_TOKEN", or "" for the value
// itself and for elements of lists.
func markedPart(v cty.Value) (part string, marked bool) {
	if v.IsMarked() {
		return "", true
	}
	if v.IsNull() || !v.IsKnown() || !v.CanIterateElements() {
		return "", false
	}
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		if e.ContainsMarked() {
			if k.Type() == cty.String && !k.IsMarked() {
				return k.AsString(), true
			}
			return "", true
		}
	}
	return "", false
}

// secretTexts collects the texts of the marked parts of a value.
func secretTexts(v cty.Value, within bool, into map[string]bool) {
	within = within || v.IsMarked()
	v, _ = v.Unmark()
	switch {
	case v.IsNull() || !v.IsKnown():
	case v.CanIterateElements():
		for it := v.ElementIterator(); it.Next(); {
			_, e := it.Element()
			secretTexts(e, within, into)
		}
	case within && v.Type() == cty.String:
		into[v.AsString()] = true
	case within && v.Type() == cty.Number:
		into[v.AsBigFloat().Text('f', -1)] = true
		into[steps.NumberText(v.AsBigFloat())] = true
	}
}

// namedSecrets collects secrets that were not marked, by their name or form: a key that is written into env,
// the password of an address.
func namedSecrets(name string, v cty.Value, into map[string]bool) {
	v, _ = v.Unmark()
	switch {
	case v.IsNull() || !v.IsKnown():
	case v.Type() == cty.String:
		for _, text := range secret.Values(name, v.AsString()) {
			into[text] = true
		}
	case v.CanIterateElements():
		for it := v.ElementIterator(); it.Next(); {
			k, e := it.Element()
			inner := name
			if k, _ = k.Unmark(); k.Type() == cty.String && k.IsKnown() {
				inner = k.AsString()
			}
			namedSecrets(inner, e, into)
		}
	}
}

// argumentSecrets collects secrets of arguments that are shown: a key in a command, a password in an address.
func (e *evaluator) argumentSecrets(v cty.Value) {
	texts := e.argumentTexts(v)
	key := strings.Join(texts, "\x00")
	if key == "" || e.searched[key] {
		return
	}
	e.searched[key] = true
	for _, text := range secret.InArguments(texts) {
		e.secrets[text] = true
	}
}

// argumentTexts returns a text, the texts of a list, or the settings of a map as NAME=VALUE. It collects the secrets of
// collections within.
func (e *evaluator) argumentTexts(v cty.Value) (texts []string) {
	v, _ = v.Unmark()
	switch {
	case v.IsNull() || !v.IsKnown():
		return nil
	case v.Type() == cty.String:
		return []string{v.AsString()}
	case !v.CanIterateElements():
		return nil
	}
	for it := v.ElementIterator(); it.Next(); {
		k, inner := it.Element()
		k, _ = k.Unmark()
		switch inner, _ = inner.Unmark(); {
		case inner.IsNull() || !inner.IsKnown() || inner.Type() != cty.String:
			e.argumentSecrets(inner)
		case k.Type() == cty.String && k.IsKnown():
			texts = append(texts, k.AsString()+"="+inner.AsString())
		default:
			texts = append(texts, inner.AsString())
		}
	}
	return texts
}

// SecretsOf implements [config.Late].
func (c *Config) SecretsOf(outputs config.Outputs) []string {
	before := map[string]bool{}
	for _, text := range c.Secrets {
		before[text] = true
	}
	texts := c.secretsWith(outputs)
	for _, from := range c.taken {
		maps.Copy(texts, from.secretsWith(outputs))
	}
	maps.DeleteFunc(texts, func(text string, _ bool) bool { return before[text] })
	for _, values := range outputs {
		for name, value := range values {
			for _, text := range secret.Values(name, value) {
				texts[text] = true
			}
			// A part of a secret is a secret, too, unless it is an ordinary word.
			part := func(text string) bool { return text != "" && strings.Contains(text, value) }
			if len(secret.Values("SECRET", value)) > 0 && slices.ContainsFunc(slices.Collect(maps.Keys(texts)), part) {
				texts[value] = true
			}
		}
	}
	return secretList(texts)
}

// secretsWith evaluates the blocks that can take outputs of steps, and returns the secrets found.
func (c *Config) secretsWith(outputs map[string]map[string]string) map[string]bool {
	e := c.evaluator(outputs)
	for _, typ := range []string{"step", "server", "deployment"} {
		for _, ent := range c.prog.of(typ) {
			e.value(ent.addr, ent.block.header)
		}
	}
	return e.secrets
}

// secretList returns the sorted texts of a set, without those too short to hide.
func secretList(texts map[string]bool) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(texts)), func(text string) bool { return len(text) < leastSecret })
}

// warnOfShort warns of a secret that is too short to be masked in logs and reports.
func (e *evaluator) warnOfShort(d declaration, v cty.Value) {
	texts := map[string]bool{}
	secretTexts(v, true, texts)
	for text := range texts {
		if text != "" && len(text) < leastSecret {
			e.report(warning(codeSensitive, d.block.header, fmt.Sprintf("the value of var.%s is too short to be hidden", d.name),
				fmt.Sprintf("Secrets of fewer than %d bytes are not masked in logs and reports: that would blank out ordinary words. Use a longer "+
					"one, or leave out sensitive.", leastSecret)))
			return
		}
	}
}

// redact removes secrets from the texts of diagnostics. Functions and conversions do not quote marked values,
// so this is a second safeguard.
func redact(diags hcl.Diagnostics, secrets []string) {
	if len(secrets) == 0 {
		return
	}
	pairs := make([]string, 0, 2*len(secrets))
	for _, s := range slices.Backward(secrets) { // longer ones before their prefixes
		pairs = append(pairs, s, "(sensitive value)")
	}
	hide := strings.NewReplacer(pairs...)
	for _, d := range diags {
		d.Summary, d.Detail = hide.Replace(d.Summary), hide.Replace(d.Detail)
	}
}

// secretHere returns the problem of a secret in an argument that is shown.
func secretHere(at hcl.Range, name, part string) *hcl.Diagnostic {
	what := name
	if part != "" {
		what += "." + part
	}
	detail := fmt.Sprintf(
		"The value of %s is sensitive, and %s is shown in reports and logs. Put it where secrets are kept: env, headers or api_key.", what, name)
	if name == "args" || name == "command" || name == "executable" {
		detail = fmt.Sprintf(
			"The value of %s is sensitive. Secrets are never in %s: they would be visible in process lists and reports. Pass it in env.", what, name)
	}
	return problem(codeSensitive, at, fmt.Sprintf("secret in %s", name), detail)
}
