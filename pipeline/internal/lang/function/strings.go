package function

import (
	"path"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

func stringEntries() []entry {
	return []entry{
		{name: "basename", f: text("path", path.Base), doc: "The last element of a path.", args: []string{"A path."}},
		{name: "dirname", f: text("path", path.Dir), doc: "A path without its last element.", args: []string{"A path."}},
		{name: "endswith", f: affix("suffix", strings.HasSuffix), doc: "True if a string ends with another.", args: []string{"The string.",
			"What it may end with."}},
		{name: "format", f: stdlib.FormatFunc, check: checkFormat, doc: "A string made of a format with verbs, as C's printf.",
			args: []string{"The format.", "The values of its verbs."}},
		{name: "formatlist", f: stdlib.FormatListFunc, check: checkFormatList,
			doc:  "A list of strings made of a format, one for each element of the lists among the values.",
			args: []string{"The format.", "Lists, or values that are the same for each."}},
		{name: "join", f: stdlib.JoinFunc, check: checkJoin, doc: "One string of the elements of lists, with a separator between them.",
			args: []string{"The separator.", "Lists of strings."}},
		{name: "lower", f: stdlib.LowerFunc, doc: "The string in lower case.", args: []string{"The string."}},
		{name: "regex", f: stdlib.RegexFunc, check: checkRegex,
			doc:  "What a regular expression (RE2) matches first: a string, or its groups as a list or an object. No match is an error.",
			args: []string{"The regular expression.", "The string."}},
		{name: "regexall", f: stdlib.RegexAllFunc, check: checkRegex, doc: "A list of all that a regular expression (RE2) matches.",
			args: []string{"The regular expression.", "The string."}},
		{name: "replace", f: replace, check: checkReplace,
			doc:  "The string with a part replaced everywhere. A part between slashes is a regular expression (RE2).",
			args: []string{"The string.", "The part, or /regular expression/.", "What comes in its place; $1 is the first group."}},
		{name: "strcontains", f: affix("part", strings.Contains), doc: "True if a string holds another.", args: []string{"The string.",
			"What it may hold."}},
		{name: "strrev", f: stdlib.ReverseFunc, doc: "The string from its end to its start.", args: []string{"The string."}},
		{name: "chomp", f: stdlib.ChompFunc, doc: "The string without line ends at its end.", args: []string{"The string."}},
		{name: "split", f: stdlib.SplitFunc, check: checkSplit, doc: "The list of the parts of a string between separators.",
			args: []string{"The separator.", "The string."}},
		{name: "startswith", f: affix("prefix", strings.HasPrefix), doc: "True if a string begins with another.", args: []string{"The string.",
			"What it may begin with."}},
		{name: "substr", f: stdlib.SubstrFunc, doc: "A part of a string, counted in characters.",
			args: []string{"The string.", "The first place, from 0; negative from the end.", "The number of characters; -1 for the rest."}},
		{name: "title", f: stdlib.TitleFunc, doc: "The string with the first letter of each word in upper case.", args: []string{"The string."}},
		{name: "trim", f: stdlib.TrimFunc, check: checkTrim, doc: "The string without certain characters at its ends.",
			args: []string{"The string.", "The characters to remove."}},
		{name: "trimprefix", f: stdlib.TrimPrefixFunc, doc: "The string without a beginning, if it has it.", args: []string{"The string.",
			"The beginning to remove."}},
		{name: "trimspace", f: stdlib.TrimSpaceFunc, doc: "The string without white space at its ends.", args: []string{"The string."}},
		{name: "trimsuffix", f: stdlib.TrimSuffixFunc, doc: "The string without an end, if it has it.", args: []string{"The string.",
			"The end to remove."}},
		{name: "upper", f: stdlib.UpperFunc, doc: "The string in upper case.", args: []string{"The string."}},
	}
}

func affix(name string, has func(s, affix string) bool) function.Function {
	return pure(cty.Bool, func(args []cty.Value) (cty.Value, error) {
		return cty.BoolVal(has(args[0].AsString(), args[1].AsString())), nil
	}, param("string", cty.String), param(name, cty.String))
}

var replace = pure(cty.String, func(args []cty.Value) (cty.Value, error) {
	part := args[1].AsString()
	if len(part) > 1 && part[0] == '/' && part[len(part)-1] == '/' {
		return stdlib.RegexReplace(args[0], cty.StringVal(part[1:len(part)-1]), args[2])
	}
	return stdlib.Replace(args[0], args[1], args[2])
}, param("string", cty.String), param("part", cty.String), param("replacement", cty.String))
