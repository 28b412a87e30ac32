package importfile

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/dustin/go-humanize"
)

// Report is the result of an import or of a dry run.
type Report struct {
	// Lines is the sum of the others. Skipped rows are in the store already. Merged rows became part of another row of their
	// customer. Rows left out have nothing to import.
	Lines, Stored, Changed, Skipped, Merged, Repeated, LeftOut, Bad int
	// Read lists the columns of a CSV file that were read, with their fields; NotRead lists the others.
	Read, NotRead []string
	// Problems say why lines are bad; Notes say what good lines lost.
	Problems, Notes []*Remark
	// Items is how many order items match no product of the store; Titles has some of their titles.
	Items  int
	Titles []string
	// Objects is true for a list of JSON objects. Line numbers then count objects.
	Objects bool
}

// Remark says what is wrong, or was changed, in one or many lines of the file.
type Remark struct {
	// Column is the column or field; empty for whole lines.
	Column string
	// Problem is the end of a sentence that begins with the column's name, such as "is left out".
	Problem string
	// Values has at most maxValues values. Count is the number of lines, and Lines at most maxRanges ranges of their numbers.
	// Related has what each range conflicts with, or "".
	Values     []string
	Lines      [][2]int
	Related    []string
	Count      int
	moreValues bool
}

const (
	maxRanges     = 50
	maxValues     = 3
	maxValueRunes = 60
	maxTitles     = 20
)

// addRemark adds e's line to the remark with its column and problem, or adds one.
func addRemark(all []*Remark, e LineError) []*Remark {
	at := slices.IndexFunc(all, func(r *Remark) bool { return r.Column == e.Column && r.Problem == e.Problem })
	if at < 0 {
		at = len(all)
		all = append(all, &Remark{Column: e.Column, Problem: e.Problem})
	}
	r := all[at]
	r.Count++
	value := e.Value
	if utf8.RuneCountInString(value) > maxValueRunes {
		value = string([]rune(value)[:maxValueRunes]) + "…"
	}
	switch {
	case value == "" || slices.Contains(r.Values, value):
	case len(r.Values) < maxValues:
		r.Values = append(r.Values, value)
	default:
		r.moreValues = true
	}
	if n := len(r.Lines); n > 0 && r.Related[n-1] == e.Related && r.Lines[n-1][1] >= e.Line-1 && r.Lines[n-1][0] <= e.Line {
		r.Lines[n-1][1] = max(r.Lines[n-1][1], e.Line)
	} else if n < maxRanges {
		r.Lines, r.Related = append(r.Lines, [2]int{e.Line, e.Line}), append(r.Related, e.Related)
	}
	return all
}

// Text returns one line. unit is "line" or "object", as of Unit.
func (r *Remark) Text(unit string) string {
	var text strings.Builder
	if r.Column != "" {
		text.WriteString(r.Column + " ")
	}
	text.WriteString(r.Problem)
	if len(r.Values) > 0 {
		var quoted []string
		for _, v := range r.Values {
			quoted = append(quoted, `"`+v+`"`)
		}
		if r.moreValues {
			quoted = append(quoted, "…")
		}
		if strings.HasPrefix(r.Problem, "must ") {
			text.WriteString(", not " + strings.Join(quoted, ", "))
		} else {
			text.WriteString(" (" + strings.Join(quoted, ", ") + ")")
		}
	}
	if r.Count == 0 {
		return text.String()
	}
	counted := 0
	ranges := make([]string, len(r.Lines))
	for i, l := range r.Lines {
		counted += l[1] - l[0] + 1
		if ranges[i] = fmt.Sprint(l[0]); l[1] > l[0] {
			ranges[i] = fmt.Sprintf("%d–%d", l[0], l[1])
		}
		if r.Related[i] != "" {
			ranges[i] += " (" + r.Related[i] + ")"
		}
	}
	if r.Count > 1 {
		unit += "s"
	}
	text.WriteString(": " + unit + " " + strings.Join(ranges, ", "))
	if r.Count > counted {
		text.WriteString(" and " + humanize.Comma(int64(r.Count-counted)) + " more")
	}
	return text.String()
}

// Unit is what line numbers count: "line" or, in a list of JSON objects, "object".
func (r *Report) Unit() string {
	if r.Objects {
		return "object"
	}
	return "line"
}

// BadLinesError means that the import stored nothing, or stopped, because of the bad lines in the report.
type BadLinesError struct{ Report *Report }

// Error names the problem of the first bad line, and how many lines are bad.
func (e *BadLinesError) Error() string {
	r := e.Report
	text := r.Problems[0].Text(r.Unit())
	if r.Bad > 1 || len(r.Problems) > 1 {
		return fmt.Sprintf("%d %ss cannot be imported: %s", r.Bad, r.Unit(), text)
	}
	return text
}

func (r *Report) addUnknown(titles []string) {
	for _, title := range titles {
		r.Items++
		if !slices.Contains(r.Titles, title) && len(r.Titles) <= maxTitles {
			r.Titles = append(r.Titles, title)
		}
	}
}

// rejects writes rows with their reasons to a file, for a person to correct and import.
type rejects struct {
	w     io.Writer
	begun bool
}

func (r *rejects) add(t *table, lines []line, problems []LineError) error {
	if r.w == nil {
		return nil
	}
	reasons := make([]string, len(problems))
	for i, b := range problems {
		reasons[i] = strings.TrimSpace(b.Column + " " + b.Problem)
		if b.Related != "" {
			reasons[i] += " (" + b.Related + ")"
		}
	}
	reason := strings.Join(reasons, "; ")
	if t.separator == 0 {
		if !r.begun && t.encoding.decoder != nil { // the byte order mark makes an import ignore --encoding
			if _, err := io.WriteString(r.w, "\ufeff"); err != nil {
				return err
			}
		}
		r.begun = true
		for _, l := range lines {
			if _, err := io.WriteString(r.w, withReason(l.text, reason)+"\n"); err != nil {
				return err
			}
		}
		return nil
	}
	w := csv.NewWriter(r.w)
	w.Comma = t.separator
	write := func(row []string) error {
		for i := range row {
			if UnescapeCell(row[i]) == row[i] { // leave an escaped cell as it is
				row[i] = EscapeCell(row[i])
			}
		}
		return w.Write(row)
	}
	hasReason := len(t.header) > 0 && t.header[0] == reasonColumn // the file has rejected rows from an earlier import
	if !r.begun {
		r.begun = true
		// The mark makes spreadsheets read UTF-8.
		mark := "\ufeff"
		if t.hasSepLine && !strings.ContainsRune(separators, t.separator) { // so that an import can recognize t.separator
			mark += "sep=" + string(t.separator) + "\n"
		}
		if _, err := io.WriteString(r.w, mark); err != nil {
			return err
		}
		header := slices.Clone(t.header)
		if !hasReason {
			header = append([]string{reasonColumn}, header...)
		}
		if err := write(header); err != nil {
			return err
		}
	}
	for _, l := range lines {
		values := l.values
		if hasReason {
			values = values[1:]
		}
		if err := write(append([]string{reason}, values...)); err != nil {
			return err
		}
	}
	w.Flush()
	return w.Error()
}

// withReason puts the reason into an object, as its first member, in one line. Other texts stay.
func withReason(object, reason string) string {
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(object), &members) != nil {
		return object
	}
	delete(members, reasonColumn)
	first, _ := json.Marshal(map[string]string{reasonColumn: reason})
	rest, _ := json.Marshal(members) // one line of JSON, whose members Marshal sorts by name
	if len(members) == 0 {
		return string(first)
	}
	return string(first[:len(first)-1]) + "," + string(rest[1:])
}
