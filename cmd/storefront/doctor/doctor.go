// Package doctor checks an installation on the machine of its server or worker: whether each requirement is met and, if not,
// what to do. It repairs nothing, makes no file and writes no row. No finding shows a key, a token or a password. The caller
// reads the flags and passes their values.
package doctor

import (
	"fmt"

	"github.com/dustin/go-humanize"
)

// Status is the severity of a finding.
type Status string

// OK means that nothing needs attention.
const (
	OK Status = "ok"
	// Warn means that the service works, but something needs attention.
	Warn Status = "warn"
	// Fail means that something does not work.
	Fail Status = "fail"
)

// Finding is the result of one check.
type Finding struct {
	// Check is the name of the check, the same in every run.
	Check   string `json:"check"`
	Status  Status `json:"status"`
	Message string `json:"message"`
	// Remedy says what to do; "" if the status is OK.
	Remedy string `json:"remedy"`
}

func withCheck(check string, f Finding) Finding {
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

// plural adds thousands separators, and an s unless n is 1.
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return humanize.Comma(int64(n)) + " " + word + "s"
}
