// Package foreign describes other load generators as data: how they are called, what their figures mean, and where these
// stand in their results. Package metric makes metrics of the definitions, and package convert reads the results.
//
// A further tool is one row of the table in tools.go. What a table cannot express is a function of package convert, named
// by the shape's Reader.
package foreign

import "slices"

// Tool is a load generator whose results can be read.
type Tool struct {
	// Name in results, after --tool and in the driver of a benchmark.
	Name string
	// Releases whose sources its readers follow.
	Releases string
	// Prefix begins the names of its own figures, as in metric.guidellm.ttft.p99.
	Prefix string
	// Differences are the quantities that it defines differently from the registry.
	Differences []Difference
	// Approximates lists groups of figures that count as the registry's although they differ
	// slightly, with the difference. Comparisons with another tool report it.
	Approximates map[string]string

	// Shapes are the objects that it writes, in JSON or YAML.
	Shapes []Shape
	// Bulk are the paths of large values that are not needed.
	Bulk []string
	// Sheets are its CSV files without results.
	Sheets []Sheet
	// Command matches its program in a shell line.
	Command string
	// Aliases are its names in llm-d's reports.
	Aliases []string
	// Prints are parts of labels that only its printed block has, and Title the title of its printed tables.
	Prints []string
	Title  string
	// Counted tools take a number of requests; the others measure for a time.
	Counted bool
	// Offline tools measure an engine in their own process: they write no result after a failure, and their times are of
	// batches and starts, not of requests.
	Offline bool
}

// Difference is a quantity that a load generator defines differently from the registry. Its figures
// have separate names, so that different quantities are never compared.
type Difference struct {
	// Quantity is the name of the registry's own quantity, or a name that the registry does not
	// have.
	Quantity   string
	Label      string
	Definition string
}

// Sheet is a CSV file without a result. Headers has columns of each of its forms, and Instead says
// what it is and what to import instead.
type Sheet struct {
	Headers []string // "Endpoint,Type,Metric"
	Instead string
}

// Shape describes an object that a tool writes: what distinguishes it, and the paths of its
// figures. Paths are keys separated by slashes; numbers are places in a list, and * is any key. If Each
// selects a part, a path that begins with a slash starts at the whole object.
type Shape struct {
	// Keys recognise the object: each is a list of paths that must all exist, with a value if given
	// ("metadata metrics/type=mean"). One list is enough. Without keys, its reader recognises it if no tool knows the
	// object.
	Keys []string
	// Reader names the reader of package convert for what the table cannot express.
	Reader string
	// Instead describes an object without results, and what to import instead.
	Instead string

	// Each is the path of a list of results; "" if the object is one. But matches list elements
	// that are not results.
	Each, But string
	// Flat objects have figures and parameters under common names, and arrays over requests.
	Flat bool
	// Params are parameters by path. Settings are objects of parameters, with a prefix for their
	// names.
	Params, Settings []Field
	// Figures are labels of a printed block, by path.
	Figures []Field
	// Times are distributions, and Stats the paths of their statistics.
	Times []Times
	Stats map[string]string
	// Audit are figures of the client.
	Audit []Field
}

// Field names the value at a path.
type Field struct{ Path, Name string }

// Times is a distribution of times at a path, in a unit; for "" the unit is in the field unit.
type Times struct{ Path, Name, Unit string }

// Own is the name of this program as a load generator.
const Own = "pipeline"

// Tools returns the known tools. The first that recognises an object reads it. The caller may append to the slice.
func Tools() []Tool { return slices.Clone(tools) }

// ShapeOf returns the shape that a reader completes.
func ShapeOf(reader string) Shape {
	for _, t := range tools {
		if i := slices.IndexFunc(t.Shapes, func(s Shape) bool { return s.Reader == reader }); i >= 0 {
			return t.Shapes[i]
		}
	}
	return Shape{}
}
