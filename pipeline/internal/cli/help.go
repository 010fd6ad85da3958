package cli

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/servegate/pipeline/reports/term"
	"github.com/spf13/cobra"
)

// commandGroup holds commands that serve one purpose.
type commandGroup struct {
	title    string
	commands []*cobra.Command
}

// programGroup is the title of the last group, which also holds cobra's own commands.
const programGroup = "Language and program:"

// commandGroups returns all commands in the order of `pipeline --help`. Those that only this program calls are hidden in it.
func (a *app) commandGroups() []commandGroup {
	return []commandGroup{
		{"Begin:", []*cobra.Command{a.abCommand(), a.initCommand(), a.validateCommand(), a.planCommand()}},
		{"Measure and decide:", []*cobra.Command{
			a.runCommand(), a.gateCommand(), a.compareCommand(), a.reportCommand(), a.commentCommand(), a.bisectCommand(),
		}},
		{"Night by night:", []*cobra.Command{a.historyCommand(), a.siteCommand(), a.baselineCommand(), a.acceptCommand()}},
		{"Check the gate and the machine:", []*cobra.Command{
			a.doctorCommand(), a.calibrateCommand(), a.selftestCommand(), a.cleanupCommand(),
		}},
		{"Single parts:", []*cobra.Command{
			a.loadCommand(), a.recordCommand(), a.simulateCommand(), a.routerCommand(), a.importCommand(),
		}},
		{programGroup, []*cobra.Command{
			a.schemaCommand(), a.fmtCommand(), a.versionCommand(),
			a.actionCommand(), mockServerCommand(), a.loadWorkerCommand(), a.podWorkerCommand(),
		}},
	}
}

// helpWidth is the width of help where standard output is not a terminal.
const helpWidth = 80

// fitHelp breaks the lines of every command's help to the width of the terminal.
func (a *app) fitHelp(root *cobra.Command) {
	columns := cmp.Or(a.OutWidth(), helpWidth)
	wrapped := fmt.Sprintf(".FlagUsagesWrapped %d", columns)
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", wrapped))
	help := root.HelpFunc()
	root.SetHelpFunc(func(c *cobra.Command, args []string) {
		c.Long = reflow(c.Long, columns)
		help(c, args)
	})
}

// reflow fills the paragraphs of a text again. Lines that begin with a space stay as they are.
func reflow(text string, columns int) string {
	var b strings.Builder
	plain := false // whether the line before can be continued
	for line := range strings.SplitSeq(text, "\n") {
		words := line != "" && line[0] != ' '
		switch {
		case b.Len() == 0:
		case words && plain:
			b.WriteByte(' ')
		default:
			b.WriteByte('\n')
		}
		b.WriteString(line)
		plain = words
	}
	return strings.Join(term.Wrap(b.String(), columns), "\n")
}
