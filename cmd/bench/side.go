package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// side is one of the two services as a process of its own, so that its processor time is its own.
type side struct {
	*process
	kind, address string
	profiles      string // the address of net/http/pprof
}

// startSide starts a side by running this program anew, and waits until it serves.
func startSide(ctx context.Context, kind string, db *database, conns int) (*side, error) {
	p, ready, err := startSelf(ctx, []string{subjectDatabase + "=" + db.url}, "subject", kind, "--conns="+strconv.Itoa(conns))
	if err != nil {
		return nil, err
	}
	address, profiles, _ := strings.Cut(ready, " ")
	return &side{p, kind, address, profiles}, nil
}

// profile writes a CPU profile of the time to a file.
func (s *side) profile(ctx context.Context, path string, length time.Duration) error {
	seconds := max(1, int(length.Round(time.Second).Seconds()))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s/debug/pprof/profile?seconds=%d", s.profiles, seconds), nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = answer.Body.Close() }()
	profile, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("profile the %s: answered %d: %s", s.kind, answer.StatusCode, profile)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(path, profile, 0o600)
}
