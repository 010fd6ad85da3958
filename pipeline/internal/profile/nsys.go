package profile

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"

	"github.com/servegate/pipeline/reports/result"
)

// columnTotal is a column of `nsys stats --format csv`. The other columns and their order vary between
// versions.
const columnTotal = "Total Time (ns)"

// maxTable is how much of a table is read, in bytes. It has a line per kernel name.
const maxTable = 64 << 20

// ReadKernels adds the table cuda_gpu_kern_sum, one report for all ranks of a server. The table is empty if no
// kernel ran.
func (s *Summary) ReadKernels(r io.Reader) error {
	rows, err := s.readTable(r, "Name", "Instances")
	if err == nil && rows > 0 {
		s.Traces++
	}
	return err
}

// ReadCopies adds the table cuda_gpu_mem_time_sum: memory copies and fills.
func (s *Summary) ReadCopies(r io.Reader) error {
	_, err := s.readTable(r, "Operation", "Count")
	return err
}

// readTable adds the rows of a table, given the columns of names and calls.
func (s *Summary) readTable(r io.Reader, names, calls string) (rows int, err error) {
	limited := &io.LimitedReader{R: r, N: maxTable}
	in := csv.NewReader(limited)
	in.FieldsPerRecord, in.ReuseRecord = -1, true
	head, err := in.Read()
	if errors.Is(err, io.EOF) {
		return 0, nil
	}
	name, total, count := slices.Index(head, names), slices.Index(head, columnTotal), slices.Index(head, calls)
	if err != nil || name < 0 || total < 0 || count < 0 {
		return 0, fmt.Errorf("not a table of nsys with the columns %q, %q and %q", columnTotal, calls, names)
	}
	for ; ; rows++ {
		row, err := in.Read()
		switch {
		case limited.N == 0:
			return rows, errTooLarge
		case errors.Is(err, io.EOF):
			return rows, nil
		case err != nil:
			return rows, err
		case len(row) <= max(name, total, count):
			return rows, fmt.Errorf("row %d is cut", rows+1)
		}
		took, err := strconv.ParseFloat(row[total], 64)
		n, other := strconv.ParseFloat(row[count], 64)
		if err = errors.Join(err, other); err != nil || !(took >= 0 && n >= 0) || math.IsInf(took+n, 0) {
			return rows, fmt.Errorf("row %d has no times", rows+1)
		}
		s.Events += int64(n)
		s.add(s.operation(result.ProfileGPU, nameOf([]byte(row[name]))), took/1e3, n)
	}
}
