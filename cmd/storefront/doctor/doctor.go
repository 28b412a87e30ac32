// Package doctor checks an installation from the place where a server or a worker of it would run.
// It reports for each requirement whether it is met and, if not, what to do. It owns the checks and
// the texts of their findings. It repairs nothing, makes no file, writes no row, and no finding
// shows a key, a token or a password. The caller reads the command line.
package doctor

import (
	"fmt"

	"github.com/dustin/go-humanize"
)

// Status is the severity of a finding.
type Status string

// The statuses of a finding.
const (
	OK Status = "ok"
	// Warn means that the service works, but something needs attention.
	Warn Status = "warn"
	// Fail means that something does not work.
	Fail Status = "fail"
)

// Finding is the result of one check.
type Finding struct {
	// Check is the name of the check, the same at every run.
	Check   string `json:"check"`
	Status  Status `json:"status"`
	Message string `json:"message"`
	// Remedy is what to do; empty when the status is OK.
	Remedy string `json:"remedy"`
}

// named is the finding of the check with a name.
func named(check string, f Finding) Finding {
	f.Check = check
	return f
}

func ok(format string, args ...any) Finding {
	return Finding{Status: OK, Message: fmt.Sprintf(format, args...)}
}

func warn(remedy, format string, args ...any) Finding {
	return Finding{Status: Warn, Message: fmt.Sprintf(format, args...), Remedy: remedy}
}

func fail(remedy, format string, args ...any) Finding {
	return Finding{Status: Fail, Message: fmt.Sprintf(format, args...), Remedy: remedy}
}

// plural returns a count with its noun, its thousands separated.
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return humanize.Comma(int64(n)) + " " + word + "s"
}
