package monitor

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.storefront.example/ent/db"
	"go.storefront.example/server/apierr"
)

const (
	// readyTimeout limits the check of the database.
	readyTimeout = 2 * time.Second
	// readyLifetime is how long a check's result is used, because anyone may request /readyz, and each check writes to the
	// database.
	readyLifetime = time.Second
)

// Readiness checks a database at most once in readyLifetime. Goroutines may share it.
type Readiness struct {
	db   *db.DB
	mu   sync.Mutex
	last *check
}

type check struct {
	began time.Time
	done  chan struct{} // closed once err is set
	ended time.Time
	err   error
}

// NewReadiness makes no check yet.
func NewReadiness(d *db.DB) *Readiness { return &Readiness{db: d} }

// Check says why the database cannot be used: it is unavailable, cannot be written, or lacks migrations. The error is an
// *apierr.Refusal with the code unavailable.
func (r *Readiness) Check(ctx context.Context) error {
	l := r.currentCheck()
	timer := time.NewTimer(time.Until(l.began.Add(readyTimeout)))
	defer timer.Stop()
	select {
	case <-l.done:
		return l.err
	case <-timer.C:
		return unavailable("The database does not answer in time.", context.DeadlineExceeded)
	case <-ctx.Done():
		return unavailable("The database was not asked.", ctx.Err())
	}
}

// currentCheck returns the running check, the last one if its result may still be used, or a new one.
func (r *Readiness) currentCheck() *check {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last != nil {
		select {
		case <-r.last.done:
			if time.Since(r.last.ended) < readyLifetime {
				return r.last
			}
		default:
			return r.last
		}
	}
	l := &check{began: time.Now(), done: make(chan struct{})}
	r.last = l
	go func() {
		defer close(l.done)
		// The first caller's context may end while others wait for the same result.
		ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
		defer cancel()
		l.err = r.checkDatabase(ctx)
		l.ended = time.Now()
	}()
	return l
}

func (r *Readiness) checkDatabase(ctx context.Context) error {
	current, err := r.db.Current(ctx)
	switch {
	case errors.Is(err, db.ErrSearchPath):
		return unavailable("The database's search_path does not lead to the tables; run storefront doctor.", err)
	case err != nil && !errors.Is(err, db.ErrPooler):
		return unavailable("The database cannot be reached.", err)
	case err == nil && !current:
		return apierr.New(apierr.Unavailable, "The schema is behind; run storefront migrate up.")
	}
	if err == nil {
		err = r.db.CheckWritable(ctx)
	}
	if err == nil {
		// The checks above use connections of their own, and requests do not.
		if err := r.db.Ping(ctx); err != nil {
			return unavailable("No connection to the database becomes free in time.", err)
		}
	}
	switch {
	case errors.Is(err, db.ErrPooler):
		return unavailable("The database is behind a pooler that shares sessions; set pool_mode = session, or run storefront doctor.",
			err)
	case err != nil:
		return unavailable("The database cannot be written.", err)
	}
	return nil
}

func unavailable(message string, cause error) error {
	return &apierr.Refusal{Code: apierr.Unavailable, Message: message, Cause: cause}
}
