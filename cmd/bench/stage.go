package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/cmd/bench/receiver"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/seal"
)

// stage is a database with stores, and the service's processes on it. Everything is done through the
// service's commands or in SQL, so that a binary of another version plays the same scene. It
// belongs to one goroutine.
type stage struct {
	binary    string
	db        *database
	url       string // of the database, as the service gets it
	stores    []storeData
	env       []string
	authority string          // a file with the certificate that the workers trust
	store     *db.DB          // beside the service, where it is open
	hooks     []receiver.Hook // hook n is that of store n
	webhooks  []uuid.UUID
	server    *process
	api       string // the server's address
	admin     string // of its operator's listener
	workers   []*process
	monitored []string // the workers' operator's listeners
}

// newStage brings the schema of an empty database up to date and loads data of a shape. It leaves
// the database to its caller when it fails.
func newStage(ctx context.Context, binary string, d *database, s shape) (*stage, error) {
	data := newDataset(s, time.Now())
	st := &stage{binary: binary, db: d, url: d.url, stores: data.stores, env: []string{"STOREFRONT_SECRET_KEY=" + seal.NewKey()}}
	if _, err := st.command(ctx, "migrate", "up"); err != nil {
		return nil, err
	}
	if err := d.load(ctx, data); err != nil {
		return nil, fmt.Errorf("make the data set: %w", err)
	}
	return st, nil
}

// open makes a database on a PostgreSQL server or, without one, in the folder, and a stage on it.
func (p *play) open(ctx context.Context, server, folder string, s shape) (*stage, error) {
	d := &database{url: "sqlite:" + filepath.Join(folder, "scene.db"), name: onSQLite, folder: folder}
	if server != "" {
		var err error
		if d, err = newDatabase(ctx, server); err != nil {
			return nil, err
		}
	}
	st, err := newStage(ctx, p.binary, d, s)
	if err != nil {
		return nil, errors.Join(err, d.drop(ctx))
	}
	return st, nil
}

// command runs a command of the service and returns its output.
func (s *stage) command(ctx context.Context, args ...string) ([]byte, error) {
	command := exec.CommandContext(ctx, s.binary, args...) //nolint:gosec // What is tested.
	command.Env = environment(s.environment()...)
	var said bytes.Buffer
	command.Stderr = &said
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("storefront %s: %w: %s", args[0], err, strings.TrimSpace(said.String()))
	}
	return out, nil
}

func (s *stage) environment() []string {
	return append([]string{"STOREFRONT_DATABASE_URL=" + s.url, "SSL_CERT_FILE=" + s.authority}, s.env...)
}

// knows reports whether a command of the service has a flag.
func (s *stage) knows(ctx context.Context, command, flag string) (bool, error) {
	help, err := s.command(ctx, command, "--help")
	return bytes.Contains(help, []byte(flag+"=")), err
}

// deadline returns the flags of the server for a deadline of requests, and the deadline that
// holds: defaultDeadline for a service that has no such setting.
func (s *stage) deadline(ctx context.Context, d time.Duration) (time.Duration, []string, error) {
	known, err := s.knows(ctx, "server", "--request-timeout")
	if err != nil || !known {
		return defaultDeadline, nil, err
	}
	return d, []string{"--request-timeout=" + d.String()}, nil
}

// defaultDeadline is that of a request when nothing is set.
const defaultDeadline = 10 * time.Second

// startServer starts a server and returns its log's line of it.
func (s *stage) startServer(ctx context.Context, flags ...string) (*process, logLine, error) {
	args := append([]string{"server", "--addr=127.0.0.1:0", "--admin-addr=127.0.0.1:0"}, flags...)
	return startService(ctx, s.binary, s.environment(), args, "listening", nil)
}

// startWorker starts a worker. OnLine, unless nil, gets each line of its log.
func (s *stage) startWorker(ctx context.Context, onLine func(line string), flags ...string) (*process, error) {
	args := append([]string{"worker", "--allow-private-targets"}, flags...)
	p, _, err := startService(ctx, s.binary, s.environment(), args, "delivering", onLine)
	return p, err
}

// serve starts the server of a scene.
func (s *stage) serve(ctx context.Context, flags ...string) error {
	p, said, err := s.startServer(ctx, flags...)
	if err != nil {
		return err
	}
	s.server, s.api, s.admin = p, said.Addr, said.AdminAddr
	return nil
}

// work starts a worker of a scene, with an operator's listener.
func (s *stage) work(ctx context.Context, flags ...string) error {
	monitored := make(chan string, 1)
	waiting := true // of the goroutine that reads the log
	p, err := s.startWorker(ctx, func(line string) {
		var l logLine
		if waiting && json.Unmarshal([]byte(line), &l) == nil && l.AdminAddr != "" {
			waiting = false
			monitored <- l.AdminAddr
		}
	}, append([]string{"--admin-addr=127.0.0.1:0"}, flags...)...)
	if err != nil {
		return err
	}
	s.workers = append(s.workers, p)
	s.monitored = append(s.monitored, <-monitored)
	return nil
}

// trust lets the workers that start from now on trust a receiver.
func (s *stage) trust(r *receiver.Receiver, folder string) error {
	s.authority = filepath.Join(folder, "authority.pem")
	return os.WriteFile(s.authority, r.Authority(), 0o600)
}

// webhook is one that was registered.
type webhook struct {
	ID     uuid.UUID `json:"id"`
	Secret string    `json:"secret"`
}

// register registers a webhook of a store.
func (s *stage) register(ctx context.Context, store storeData, url string) (webhook, error) {
	var w webhook
	out, err := s.command(ctx, "webhook", "create", "--store", store.slug, "--url", url, "--allow-private-targets", "-o", "json")
	if err == nil {
		err = json.Unmarshal(out, &w)
	}
	return w, err
}

// registerAll registers a webhook in each store, at the receiver's URL of its number.
func (s *stage) registerAll(ctx context.Context, url func(n int) string) error {
	for n, store := range s.stores {
		made, err := s.register(ctx, store, url(n))
		if err != nil {
			return fmt.Errorf("register the webhooks: %w", err)
		}
		s.hooks, s.webhooks = append(s.hooks, receiver.Hook{Secret: made.Secret}), append(s.webhooks, made.ID)
	}
	return nil
}

// operatorTimeout bounds a request to an operator's listener.
const operatorTimeout = 15 * time.Second

// readiness is the status of /readyz of the server, 0 without an answer.
func (s *stage) readiness(ctx context.Context) int {
	status, _, _ := fetch(ctx, "http://"+s.admin+"/readyz") // 0 with an error
	return status
}

func fetch(ctx context.Context, url string) (int, []byte, error) {
	ctx, cancel := context.WithTimeout(ctx, operatorTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	return answer.StatusCode, body, err
}

// metric is the sum of a metric without labels over all workers.
func (s *stage) metric(ctx context.Context, name string) (float64, error) {
	sum := 0.0
	for _, address := range s.monitored {
		_, body, err := fetch(ctx, "http://"+address+"/metrics")
		if err != nil {
			return 0, err
		}
		_, rest, found := strings.Cut(string(body), "\n"+name+" ")
		if !found {
			return 0, fmt.Errorf("there is no metric %s", name)
		}
		value, _, _ := strings.Cut(rest, "\n")
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

// close ends the processes and removes the database.
func (s *stage) close(ctx context.Context) error {
	err := s.end()
	return errors.Join(err, s.db.drop(context.WithoutCancel(ctx)))
}

// end ends the processes in good order.
func (s *stage) end() error {
	parts := s.workers
	if s.server != nil {
		parts = append(parts, s.server)
	}
	s.workers, s.monitored, s.server = nil, nil, nil
	return stopAll(parts)
}
