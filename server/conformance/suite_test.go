package conformance_test

import (
	"bufio"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db/dbtest"
)

// specification lists the rows of the specification, in our words, one a line.
const specification = "testdata/specification.txt"

// scenario is one case of the suite. It runs on every database and face, on a store of its own.
type scenario struct {
	name string
	// on are the faces that it runs on, where not all have what it shows; nil means every face.
	on []face
	// rows are the rows of the specification that it shows.
	rows []string
	run  func(b *bench)
}

// shown tells which tests show each row.
var shown = map[string][]string{}

// suite are the cases of every resource.
var suite []scenario

// cases enters cases into the suite.
func cases(list ...scenario) struct{} {
	for _, c := range list {
		suite = append(suite, c)
		for _, row := range c.rows {
			shown[row] = append(shown[row], c.name)
		}
	}
	return struct{}{}
}

// shows enters the rows that a test outside the suite shows.
func shows(test func(*testing.T), rows ...string) struct{} {
	name := runtime.FuncForPC(reflect.ValueOf(test).Pointer()).Name()
	name = name[strings.LastIndexByte(name, '.')+1:]
	for _, row := range rows {
		shown[row] = append(shown[row], name)
	}
	return struct{}{}
}

// under puts a part's name before each of its rows.
func under(part string, rows ...string) []string {
	for i := range rows {
		rows[i] = part + "/" + rows[i]
	}
	return rows
}

// TestConformance runs every case on every face and every database. The cases of a database share
// a server and no store.
func TestConformance(t *testing.T) {
	t.Parallel()
	for _, database := range dbtest.Databases() {
		t.Run(database, func(t *testing.T) {
			t.Parallel()
			s := newService(t, database, settings{step: time.Millisecond})
			for _, f := range faces() {
				t.Run(f.name(), func(t *testing.T) {
					t.Parallel()
					for _, c := range suite {
						if c.on != nil && !slices.Contains(c.on, f) {
							continue
						}
						t.Run(c.name, func(t *testing.T) {
							t.Parallel()
							c.run(s.newBench(t, f))
						})
					}
				})
			}
		})
	}
}

// TestSpecification holds the list of rows against the tests that show them, both ways, and prints
// how many rows each part has.
func TestSpecification(t *testing.T) {
	t.Parallel()
	file, err := os.Open(specification)
	require.NoError(t, err)
	defer file.Close()
	var rows, parts []string
	count := map[string]int{}
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		row := lines.Text()
		if row == "" || strings.HasPrefix(row, "#") {
			continue
		}
		require.NotContains(t, rows, row, "a row stands once")
		rows = append(rows, row)
		part, _, _ := strings.Cut(row, "/")
		if count[part]++; count[part] == 1 {
			parts = append(parts, part)
		}
	}
	require.NoError(t, lines.Err())
	for _, row := range rows {
		if len(shown[row]) == 0 {
			t.Errorf("no test names the row %q", row)
		}
	}
	for row, tests := range shown {
		if !slices.Contains(rows, row) {
			t.Errorf("%s names %q, which is no row of the specification", strings.Join(tests, ", "), row)
		}
	}
	for _, part := range parts {
		t.Logf("%-20s %3d rows", part, count[part])
	}
	t.Logf("%-20s %3d rows, %d cases on %d faces and %d databases", "all", len(rows), len(suite), len(faces()), len(dbtest.Databases()))
}
