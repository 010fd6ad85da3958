package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/lang"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps/enum"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// option is a named value of an enum flag.
type option[T any] struct {
	name  string
	value T
	doc   string // "" if the name explains it
}

// words returns options that are named after their values.
func words[T ~string](values ...T) []option[T] {
	out := make([]option[T], len(values))
	for i, v := range values {
		out[i] = option[T]{name: string(v), value: v}
	}
	return out
}

// optionsOf returns the options for a shared table of values.
func optionsOf(values enum.Values) []option[string] {
	out := make([]option[string], len(values))
	for i, v := range values {
		out[i] = option[string]{v.Name, v.Name, v.Doc}
	}
	return out
}

// allowed returns the names and docs of options.
func allowed[T any](options []option[T]) enum.Values {
	out := make(enum.Values, len(options))
	for i, o := range options {
		out[i] = enum.Value{Name: o.name, Doc: o.doc}
	}
	return out
}

// optionByName returns the value of a name. An empty name, such as an unset variable in a script, is an error and not
// the default.
func optionByName[T any](options []option[T], name string) (T, error) {
	for _, o := range options {
		if o.name == name {
			return o.value, nil
		}
	}
	var none T
	return none, allowed(options).Check(name)
}

// enumValue is a flag that takes one option of a table.
type enumValue[T any] struct {
	value   *T
	name    string // name of the value
	options []option[T]
}

func (e *enumValue[T]) String() string { return e.name }
func (e *enumValue[T]) Type() string   { return "word" }

func (e *enumValue[T]) Set(name string) error {
	value, err := optionByName(e.options, name)
	if err == nil {
		e.name, *e.value = name, value
	}
	return err
}

// enumFlag adds a flag that takes one of options. unless names the default, "" for none.
func enumFlag[T any](cmd *cobra.Command, value *T, flag, unless string, options []option[T], usage string) {
	e := &enumValue[T]{value: value, options: options}
	if unless != "" {
		if err := e.Set(unless); err != nil {
			panic(fmt.Sprintf("the default of --%s: %v", flag, err))
		}
	}
	addEnum(cmd, e, flag, usage, options)
}

// addEnum adds a flag with its options in the usage and in shell completion.
func addEnum[T any](cmd *cobra.Command, value pflag.Value, flag, usage string, options []option[T]) {
	var completions []cobra.Completion
	for _, o := range options {
		completions = append(completions, cobra.CompletionWithDesc(o.name, o.doc))
	}
	cmd.Flags().Var(value, flag, usage+": "+allowed(options).Doc())
	// It fails only for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(completions, cobra.ShellCompDirectiveNoFileComp))
}

// enumListValue is a flag that takes several comma-separated options of a table.
type enumListValue[T any] struct {
	values  *[]T
	text    string
	options []option[T]
}

func (e *enumListValue[T]) String() string { return e.text }
func (e *enumListValue[T]) Type() string   { return "words" }

func (e *enumListValue[T]) Set(text string) error {
	var values []T
	if strings.TrimSpace(text) != "" {
		for name := range strings.SplitSeq(text, ",") {
			v, err := optionByName(e.options, strings.TrimSpace(name))
			if err != nil {
				return err
			}
			values = append(values, v)
		}
	}
	e.text, *e.values = text, values
	return nil
}

// enumListFlag adds a flag that takes several of options.
func enumListFlag[T any](cmd *cobra.Command, values *[]T, flag string, options []option[T], usage string) {
	addEnum(cmd, &enumListValue[T]{values: values, options: options}, flag, usage, options)
}

// bounded is a flag that takes an integer between two bounds.
type bounded struct {
	value     *int
	low, high int
}

func (b bounded) String() string { return strconv.Itoa(*b.value) }
func (b bounded) Type() string   { return "number" }

func (b bounded) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil || n < b.low || n > b.high {
		return fmt.Errorf("must be a whole number from %d to %d", b.low, b.high)
	}
	*b.value = n
	return nil
}

// failNever is the value of --fail-on for no verdict.
const failNever result.Verdict = ""

func failOnFlag(cmd *cobra.Command, list *[]result.Verdict) {
	var options []option[result.Verdict]
	for _, v := range result.ActedOn() {
		options = append(options, option[result.Verdict]{name: string(v), value: v})
	}
	options = append(options, option[result.Verdict]{name: "never", value: failNever})
	enumListFlag(cmd, list, "fail-on", options, "fail on these `verdicts` alone, whatever the gates say, with commas between")
}

// setFailOn makes the gates of a file fail on the listed verdicts only, and warn of the others. An empty list changes
// nothing. It must run before planning, because the gates that can fail form the family that shares the error rate.
// Faults of the file and of the machine always fail, because they are not verdicts.
func setFailOn(cfg *lang.Config, list []result.Verdict) error {
	if len(list) > 1 && slices.Contains(list, failNever) {
		return errors.New("--fail-on: never cannot be combined with other values")
	}
	if len(list) == 0 {
		return nil
	}
	for _, g := range cfg.Gates {
		for _, v := range result.ActedOn() {
			if *g.At(v) = result.Warn; slices.Contains(list, v) {
				*g.At(v) = result.Fail
			}
		}
	}
	return nil
}
