// Package doctor looks at an installation from where a server or a worker of it would run, and says
// of each thing that it needs whether it is there and, if not, what to do. It owns the checks and
// the texts of their findings. It repairs nothing, makes no file, writes no row, and no finding
// shows a key, a token or a password. Reading the command line is the caller's.
package doctor

import "fmt"

// Status is how grave a finding is.
type Status string

// The statuses of a finding.
const (
	OK Status = "ok"
	// Warn says that the service works, and that something should be seen to all the same.
	Warn Status = "warn"
	// Fail says that something does not work until it is seen to.
	Fail Status = "fail"
)

// Finding is what one check says.
type Finding struct {
	// Check is the name of the check, the same at every run.
	Check   string `json:"check"`
	Status  Status `json:"status"`
	Message string `json:"message"`
	// Remedy is what to do; empty when the status is OK.
	Remedy string `json:"remedy"`
}

func ok(check, format string, args ...any) Finding {
	return Finding{Check: check, Status: OK, Message: fmt.Sprintf(format, args...)}
}

func warn(check, remedy, format string, args ...any) Finding {
	return Finding{Check: check, Status: Warn, Message: fmt.Sprintf(format, args...), Remedy: remedy}
}

func fail(check, remedy, format string, args ...any) Finding {
	return Finding{Check: check, Status: Fail, Message: fmt.Sprintf(format, args...), Remedy: remedy}
}

// plural is a count with the word for what is counted.
func plural(n int, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return fmt.Sprintf("%d %ss", n, word)
}
