package doctor

import (
	"slices"
	"strings"

	"go.storefront.example/server/admin/rpc"
)

// prefix is what the names of all variables of the service start with.
const prefix = "STOREFRONT_"

// farthest is how many letters a name may differ by from the one that was probably meant.
const farthest = 3

// Variables looks for variables of the environment, given as NAME=VALUE, that look like settings
// and are none. Known are the names of the variables that are.
func Variables(environ, known []string) Finding {
	const check = "variables"
	var unknown, meant []string
	set := 0
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(name, prefix) || value == "" {
			continue
		}
		set++
		if slices.Contains(known, name) {
			continue
		}
		unknown = append(unknown, name)
		if near := nearest(name, known); near != "" {
			meant = append(meant, near)
		}
	}
	if len(unknown) == 0 {
		return ok(check, "%s of the environment, all known", plural(set, "setting"))
	}
	slices.Sort(unknown)
	remedy := "unset what is no setting: `storefront server --help` and `storefront worker --help` list those that are"
	if len(meant) > 0 {
		slices.Sort(meant)
		remedy = "correct the name; perhaps " + strings.Join(slices.Compact(meant), ", ") + " was meant"
	}
	return warn(check, remedy, "nothing reads %s", strings.Join(unknown, ", "))
}

// nearest is the known name that differs least, or "" when none is near.
func nearest(name string, known []string) string {
	best, least := "", farthest+1
	for _, k := range known {
		if d := distance(name, k); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance is how many letters must be added, removed or replaced to make a of b (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// Command reports whether a command accepts the settings: err is its error, or nil.
func Command(name string, err error) Finding {
	if err != nil {
		return fail(name+"-settings", "correct it in the environment or in the settings file; see `storefront "+name+" --help`",
			"storefront %s does not start: %v", name, err)
	}
	return ok(name+"-settings", "storefront %s can read its settings", name)
}

// AdminToken looks at the operator's token, empty when none is set.
func AdminToken(token string) Finding {
	const check = "admin-token"
	if token == "" {
		return ok(check, "not set: the admin services and the dashboard are off")
	}
	if err := rpc.CheckToken(token); err != nil {
		return fail(check, "make one with `storefront secret generate` and set STOREFRONT_ADMIN_TOKEN to it", "--admin-token %v", err)
	}
	return ok(check, "long enough")
}
