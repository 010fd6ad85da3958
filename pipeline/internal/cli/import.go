package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/servegate/pipeline/pipeline/internal/convert"
	"github.com/servegate/pipeline/pipeline/internal/store"
	"github.com/servegate/pipeline/reports/escape"
	"github.com/servegate/pipeline/reports/result"
	"github.com/servegate/pipeline/steps/secret"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// importFlags configures how results of other tools become cells and repeats.
type importFlags struct {
	by          []string
	launchBy    string
	launchFiles bool
	tool        string
}

func (f *importFlags) register(cmd *cobra.Command, tools convert.Tools) {
	fl := cmd.Flags()
	fl.StringSliceVar(&f.by, "by", nil, "parameters that distinguish cells, for example qps,input_len (chosen by what differs unless set)")
	fl.StringVar(&f.launchBy, "launch-by", "", "`parameter` that distinguishes launches of the server")
	fl.BoolVar(&f.launchFiles, "one-launch-per-file", false, "each file holds the results of one launch")
	enumFlag(cmd, &f.tool, "tool", "", words(tools.Names()...), "`tool` that wrote the files, where they do not say")
}

// readResults reads the results that arguments name. It returns the readable ones together with an error for the
// others.
func (a *app) readResults(args []string, opt convert.ReadOptions) ([]convert.Run, error) {
	var runs []convert.Run
	var errs []error
	for _, arg := range args {
		more, err := a.readArgument(arg, opt)
		runs = append(runs, more...)
		errs = append(errs, err)
	}
	return runs, errors.Join(errs...)
}

// readArgument reads the results of one argument. It masks the secrets in what they say of their client: a key in a
// command, a token in an address.
func (a *app) readArgument(arg string, opt convert.ReadOptions) ([]convert.Run, error) {
	runs, err := convert.ReadArgument(arg, opt, a.In)
	for i := range runs {
		var said []string
		for name, value := range runs[i].Params {
			said = append(said, name+"="+value)
		}
		for name, value := range runs[i].Audit {
			if text, ok := value.(string); ok {
				said = append(said, name+"="+text)
			}
		}
		a.redact.Learn(secret.InArguments(said)...)
	}
	return runs, err
}

// maxNotes limits the printed notes; the document has all.
const maxNotes = 12

// notes prints the notes on a document, most important first.
func (a *app) notes(notes []string) {
	for i, text := range notes {
		if i == maxNotes {
			fmt.Fprintf(a.Err, "note: and %d less important ones: import --format json lists them under warnings\n", len(notes)-i)
			return
		}
		fmt.Fprintf(a.Err, "note: %s\n", escape.Line(text, 1000))
	}
}

// outFlag adds the output flag, which has the same name in all commands.
func outFlag(fl *pflag.FlagSet, out *string, usage string) {
	fl.StringVarP(out, "out", "o", "", usage)
}

func (f importFlags) options(files string) convert.Options {
	return convert.Options{
		By: f.by, LaunchBy: f.launchBy, OneLaunchPerFile: f.launchFiles, Tool: "pipeline " + Version(), File: files,
	}
}

func (a *app) importCommand() *cobra.Command {
	var f importFlags
	var format runsWriter
	var out string
	var records bool
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Read results of other tools and write them in another form",
		Long: "Reads printed blocks and logs of vLLM and SGLang, markdown tables, CSV, Benchmark Reports of llm-d, the files of these\n" +
			"load generators, and CSV and JSON that it wrote itself:\n\n" +
			"  " + strings.Join(a.tools.Names(), ", ") + "\n\n" +
			"A file can be followed by a selection, in which a star stands for any text: night.log?qps=2, 'night.log?h3=*RDMA*'. A\n" +
			"dash is the standard input. Files may be compressed with gzip, and be logs of Docker's json-file driver. A file that\n" +
			"cannot be read is reported, the others are written, and the exit status is 3.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := noPipelineFiles("import", args); err != nil {
				return err
			}
			runs, unread := a.readResults(args, convert.ReadOptions{Tools: a.tools, Tool: f.tool, Records: records})
			if len(runs) == 0 {
				return exit(exitUsage, unread)
			}
			if err := a.export(out, func(w io.Writer) error { return format(w, runs, f.options(args[0])) }); err != nil {
				return err
			}
			a.notes(convert.Notes(runs))
			if unread != nil {
				return exit(exitUsage, fmt.Errorf("what is written is not whole: %w", unread))
			}
			return nil
		},
	}
	f.register(cmd, a.tools)
	enumFlag(cmd, &format, "format", "json", importFormats,
		"`format`")
	outFlag(cmd.Flags(), &out, "`file` to write (standard output unless set)")
	cmd.Flags().BoolVar(&records, "records", false,
		"keep the requests of detailed files: --format vllm writes them all, json their histograms")
	return cmd
}

// runsWriter writes imported results in a format.
type runsWriter func(io.Writer, []convert.Run, convert.Options) error

var importFormats = []option[runsWriter]{
	{"json", asDocument(result.Encode), "a result document"},
	{"csv", asRuns(convert.WriteCSV), ""},
	{"vllm", asRuns(convert.WriteVLLM), "an object a line"},
	{"bench", asDocument(convert.WriteGoBench), "Go benchmarks"},
	{"openmetrics", asDocument(convert.WriteOpenMetrics), ""},
	{"llm-d", asRuns(convert.WriteLLMD), "a report, of several results one a line"},
}

func asRuns(write func(io.Writer, []convert.Run) error) runsWriter {
	return func(w io.Writer, runs []convert.Run, _ convert.Options) error { return write(w, runs) }
}

func asDocument(write func(io.Writer, *result.Document) error) runsWriter {
	return func(w io.Writer, runs []convert.Run, opt convert.Options) error {
		doc, err := convert.Document(runs, opt)
		if err != nil {
			return err
		}
		return write(w, doc)
	}
}

// export writes to a file atomically, or to standard output. Results that the format cannot represent are a usage
// error.
func (a *app) export(path string, write func(io.Writer) error) error {
	if path == "" {
		if err := write(a.Out); err != nil {
			return exit(exitUsage, err)
		}
		return nil
	}
	code := exitInfrastructure
	err := store.WriteFile(path, a.redact, func(w io.Writer) error {
		err := write(w)
		if err != nil {
			code = exitUsage
		}
		return err
	})
	if err != nil {
		return exit(code, err)
	}
	return nil
}
