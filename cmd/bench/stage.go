package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/cmd/bench/receiver"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/seal"
)

// stage is a database with stores, and the service's processes on it. It uses only the service's commands and SQL, so that a
// program of another version can be measured. Only one goroutine may use it.
type stage struct {
	workspace
	database *database
	url      string // the database's URL for the service
	stores   []storeData
	keys     *rotation // the keys of all stores
	env      []string
	token    string             // the operator's token
	receiver *receiver.Receiver // nil until subscribe is called
	webhooks []webhook          // webhook n belongs to store n
	server   *process
	workers  []*process
	handle   *db.DB // the bench's own handle of the database; nil until open is called
}

type webhook struct {
	ID     uuid.UUID `json:"id"`
	Secret string    `json:"secret"`
}

// newStage migrates an empty database and loads a data set. If it fails, the caller must still remove the database.
func newStage(ctx context.Context, w workspace, d *database, s shape) (*stage, error) {
	data := newDataset(s, time.Now())
	st := &stage{workspace: w, database: d, url: d.url, stores: data.stores, token: strings.Repeat("t", 32)}
	st.keys = &rotation{stores: data.stores}
	st.env = []string{"STOREFRONT_SECRET_KEY=" + seal.NewKey(), "STOREFRONT_ADMIN_TOKEN=" + st.token}
	if _, err := st.command(ctx, "migrate", "up"); err != nil {
		return nil, err
	}
	if len(d.workers) > 0 {
		if _, err := st.command(ctx, "shard", "apply", "--yes"); err != nil {
			return nil, err
		}
	}
	load := st.copyIn
	if d.sqlite {
		load = st.insert
	}
	if err := load(ctx, data); err != nil {
		return nil, fmt.Errorf("make the data set: %w", err)
	}
	return st, nil
}

// openStage takes a server, the URLs of all nodes of a Citus cluster, separated by spaces, or "" for a SQLite file.
func openStage(ctx context.Context, w workspace, server string, s shape) (*stage, error) {
	d, err := newDatabase(ctx, server, w.folder)
	if err != nil {
		return nil, err
	}
	st, err := newStage(ctx, w, d, s)
	if err != nil {
		return nil, errors.Join(err, d.drop(ctx))
	}
	return st, nil
}

// authority is the file with the receiver's certificate, which the workers trust.
func (s *stage) authority() string { return filepath.Join(s.folder, "authority.pem") }

func (s *stage) prepare(ctx context.Context, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, s.binary, args...)
	command.Env = environment(append([]string{"STOREFRONT_DATABASE_URL=" + s.url, "SSL_CERT_FILE=" + s.authority()}, s.env...)...)
	return command
}

func (s *stage) command(ctx context.Context, args ...string) ([]byte, error) {
	command := s.prepare(ctx, args...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("storefront %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(stderr.String()))
	}
	return out, nil
}

// open opens the bench's own handle at the first call.
func (s *stage) open(ctx context.Context) (*db.DB, error) {
	var err error
	if s.handle == nil {
		s.handle, err = hook.Open(ctx, db.Config{URL: s.database.url, MaxConns: 4})
	}
	return s.handle, err
}

// serverArgs begin the command line of a server. The load comes from one address but stands for many clients: --trusted-proxies
// lets this address open as many connections as a proxy may.
var serverArgs = []string{"server", "--addr=127.0.0.1:0", "--admin-addr=127.0.0.1:0", "--trusted-proxies=127.0.0.1"}

func (s *stage) startServer(ctx context.Context, flags ...string) (*process, error) {
	return startProcess(s.prepare(ctx, append(slices.Clip(serverArgs), flags...)...), "listening", nil)
}

// startWorker passes each line of the log to onLine, unless that is nil.
func (s *stage) startWorker(ctx context.Context, onLine func(line string), flags ...string) (*process, error) {
	args := append([]string{"worker", "--allow-private-targets"}, flags...)
	return startProcess(s.prepare(ctx, args...), "delivering", onLine)
}

func (s *stage) serve(ctx context.Context, flags ...string) (err error) {
	s.server, err = s.startServer(ctx, flags...)
	return err
}

func (s *stage) startWorkers(ctx context.Context, workers int, flags ...string) error {
	for range workers {
		p, err := s.startWorker(ctx, nil, flags...)
		if err != nil {
			return err
		}
		s.workers = append(s.workers, p)
	}
	return nil
}

func (s *stage) stopWorkers() error {
	workers := s.workers
	s.workers = nil
	return stopAll(workers)
}

// subscribe registers a webhook in each of the first stores. The receiver never answers those for which hangs is true.
func (s *stage) subscribe(ctx context.Context, stores int, answer receiver.Answer, hangs func(store int) bool) error {
	s.receiver = receiver.Start(answer)
	if err := os.WriteFile(s.authority(), s.receiver.Authority(), 0o600); err != nil {
		return err
	}
	var hooks []receiver.Hook
	for n := range stores {
		var w webhook
		out, err := s.command(ctx, "webhook", "create", "--allow-private-targets", "-o", "json",
			"--store", s.stores[n].slug, "--url", s.receiver.URL(n))
		if err == nil {
			err = json.Unmarshal(out, &w)
		}
		if err != nil {
			return fmt.Errorf("register a webhook: %w", err)
		}
		s.webhooks = append(s.webhooks, w)
		hooks = append(hooks, receiver.Hook{Secret: w.Secret, Hangs: hangs(n)})
	}
	s.receiver.SetHooks(hooks)
	return nil
}

func noneHangs(int) bool { return false }

func (s *stage) close(ctx context.Context) error {
	err := s.stopWorkers()
	if s.server != nil {
		err = errors.Join(err, s.server.stop())
	}
	if s.receiver != nil {
		err = errors.Join(err, s.receiver.Close())
	}
	if s.handle != nil {
		err = errors.Join(err, s.handle.Close())
	}
	return errors.Join(err, s.database.drop(ctx))
}

// readiness returns the status of the server's /readyz, or 0 without an answer.
func (s *stage) readiness(ctx context.Context) int {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.server.admin+"/readyz", nil)
	if err != nil {
		return 0
	}
	answer, err := (&http.Client{Timeout: answerTimeout}).Do(request)
	if err != nil {
		return 0
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// storedEvent is an event about the resource subject, of the type kind.
type storedEvent struct {
	id, subject uuid.UUID
	kind        string
	data        json.RawMessage
	at          time.Time
}

// events returns the events since a time.
func (s *stage) events(ctx context.Context, since time.Time) ([]storedEvent, error) {
	d, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	var list []storedEvent
	for row := range db.Rows(ctx, d.Reader(), "SELECT id, type, payload, created_at FROM events WHERE created_at >= $1", since) {
		var e storedEvent
		var payload []byte
		if err := row.Scan(&e.id, &e.kind, &payload, &e.at); err != nil {
			return nil, fmt.Errorf("read the events: %w", err)
		}
		var envelope struct {
			Data json.RawMessage `json:"data"`
		}
		var data struct {
			ID uuid.UUID `json:"id"`
		}
		if err := errors.Join(json.Unmarshal(payload, &envelope), json.Unmarshal(envelope.Data, &data)); err != nil {
			return nil, fmt.Errorf("read the event %s: %w", e.id, err)
		}
		e.subject, e.data = data.ID, envelope.Data
		list = append(list, e)
	}
	return list, nil
}

// eventsByCustomer has the customer.created events.
func (s *stage) eventsByCustomer(ctx context.Context) (map[uuid.UUID]uuid.UUID, error) {
	list, err := s.events(ctx, time.Time{})
	events := map[uuid.UUID]uuid.UUID{}
	for _, e := range list {
		if e.kind == "customer.created" {
			events[e.subject] = e.id
		}
	}
	return events, err
}

// settle waits, for at most limit, until all deliveries are finished.
func (s *stage) settle(ctx context.Context, limit time.Duration) error {
	d, err := s.open(ctx)
	if err != nil {
		return err
	}
	var last error // errors are expected while the database starts again
	settled, err := poll(ctx, limit, func() (bool, error) {
		pending := true
		last = d.Reader().QueryRowContext(ctx, "SELECT EXISTS (SELECT 1 FROM deliveries)").
			Scan(&pending)
		return last == nil && !pending, nil
	})
	if err == nil && !settled {
		err = errors.Join(fmt.Errorf("after %s something is still to be delivered", limit), last)
	}
	return err
}
