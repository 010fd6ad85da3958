package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/google/renameio/v2"
	"github.com/servegate/pipeline/pipeline/internal/interchange"
	"github.com/servegate/pipeline/pipeline/internal/session"
	"github.com/servegate/pipeline/reports/result"
	"github.com/spf13/cobra"
)

// importFlags say how results of other tools become cells and repeats.
type importFlags struct {
	by          []string
	launchBy    string
	launchFiles bool
	tool        string
}

func (f *importFlags) register(cmd *cobra.Command) {
	fl := cmd.Flags()
	fl.StringSliceVar(&f.by, "by", nil, "parameters that tell cells apart, for example qps,input_len (chosen by what differs unless set)")
	fl.StringVar(&f.launchBy, "launch-by", "", "`parameter` that tells launches of the server apart")
	fl.BoolVar(&f.launchFiles, "one-launch-per-file", false, "each file holds the results of one launch")
	fl.StringVar(&f.tool, "tool", "", "`tool` that wrote the files, where they do not say (vllm, sglang)")
}

func (f importFlags) options(files string) interchange.Options {
	return interchange.Options{
		By: f.by, LaunchBy: f.launchBy, OneLaunchPerFile: f.launchFiles, Tool: "pipeline " + Version(), File: files,
	}
}

func (a *app) importCommand() *cobra.Command {
	var f importFlags
	var format, out string
	var records bool
	cmd := &cobra.Command{
		Use:   "import FILE...",
		Short: "Read results of other tools and write them in another form",
		Long: "Reads printed blocks and logs of vLLM and SGLang, their JSON, markdown tables, CSV, the files of guidellm, aiperf,\n" +
			"inference-perf and inference-benchmarker, Benchmark Reports of llm-d, and what it writes itself. A file can be\n" +
			"followed by a selection, in which a star stands for any text: night.log?qps=2, 'night.log?h3=*RDMA*'.",
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			var runs []interchange.Run
			for _, arg := range args {
				more, err := session.ReadForeign(arg, interchange.ReadOptions{Tool: f.tool, Records: records})
				if err != nil {
					return exit(exitUsage, err)
				}
				runs = append(runs, more...)
			}
			return a.export(out, func(w io.Writer) error { return writeRuns(w, format, runs, f.options(args[0])) })
		},
	}
	f.register(cmd)
	cmd.Flags().StringVar(&format, "format", "json", "`json` (a result document), csv, vllm, bench (Go benchmarks), openmetrics or llm-d")
	cmd.Flags().StringVarP(&out, "output", "o", "", "`file` to write (standard output unless set)")
	cmd.Flags().BoolVar(&records, "records", false, "compute metrics from per-request records where a file has them")
	return cmd
}

// writeRuns writes imported results in a format.
func writeRuns(w io.Writer, format string, runs []interchange.Run, opt interchange.Options) error {
	switch format {
	case "csv":
		return interchange.WriteCSV(w, runs)
	case "vllm":
		return interchange.WriteVLLM(w, runs)
	case "llm-d":
		for i := range runs {
			if err := interchange.WriteLLMD(w, &runs[i]); err != nil {
				return err
			}
		}
		return nil
	}
	doc, err := interchange.Document(runs, opt)
	if err != nil {
		return err
	}
	switch format {
	case "json":
		return result.Encode(w, doc)
	case "bench":
		return interchange.WriteGoBench(w, doc)
	case "openmetrics":
		return interchange.WriteOpenMetrics(w, doc)
	}
	return fmt.Errorf("--format %q is none of json, csv, vllm, bench, openmetrics, llm-d", format)
}

// export writes to a file as a whole, or to standard output. What cannot be written from
// the given results is a wrong use.
func (a *app) export(path string, write func(io.Writer) error) error {
	if path == "" {
		if err := write(a.Out); err != nil {
			return exit(exitUsage, err)
		}
		return nil
	}
	file, err := renameio.NewPendingFile(path, renameio.WithPermissions(0o644))
	if err != nil {
		return exit(exitInfrastructure, err)
	}
	defer func() { _ = file.Cleanup() }() // after a replace it does nothing
	w := a.redact.FileWriter(path, file)
	if err := errors.Join(write(w), w.Close()); err != nil {
		return exit(exitUsage, err)
	}
	if err := file.CloseAtomicallyReplace(); err != nil {
		return exit(exitInfrastructure, err)
	}
	return nil
}
