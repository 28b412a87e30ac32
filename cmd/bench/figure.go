package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// measureYardstick is the loop that stores nothing.
	measureYardstick = "yardstick"
	// drainRate is the figure that two drains are compared by.
	drainRate = "from the first arrival to the last"
	// drainPayments is how fast its events came to be.
	drainPayments = "the payments that fill it, no worker beside them"
)

// webhookReport is the outcome of a run, as -o json prints it.
type webhookReport struct {
	Database       string    `json:"database"`
	FullPageWrites string    `json:"fullPageWrites"`
	Go             string    `json:"go"`
	System         string    `json:"system"`
	CPUs           int       `json:"cpus"`
	Stores         int       `json:"stores"`
	Events         int       `json:"events"`
	Workers        int       `json:"workers"`
	Writers        int       `json:"writers"`
	Rate           float64   `json:"rate"`
	Hanging        int       `json:"hanging"`
	Waiting        int       `json:"waiting"`
	Journal        int       `json:"journal"`
	Figures        []*figure `json:"figures"`
}

// figure is one that was measured, once in each round: the median, the least and the most.
type figure struct {
	Measure string  `json:"measure"`
	Name    string  `json:"name"`
	Unit    string  `json:"unit"`
	Median  float64 `json:"median"`
	Min     float64 `json:"min"`
	Max     float64 `json:"max"`
	Rounds  int     `json:"rounds"`

	values []float64
}

func newWebhookReport(ctx context.Context, c *webhooksCommand, db *database) (*webhookReport, error) {
	full, err := db.setting(ctx, "full_page_writes")
	return &webhookReport{
		Database: db.name, FullPageWrites: full, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(),
		Stores: c.Stores, Events: c.Events, Workers: c.Workers, Writers: c.Writers, Rate: c.Rate,
		Hanging: c.Hanging, Waiting: c.Waiting, Journal: c.Journal,
	}, err
}

// find returns a figure that has been measured, or nil.
func (r *webhookReport) find(measure, name, unit string) *figure {
	i := slices.IndexFunc(r.Figures, func(f *figure) bool { return f.Measure == measure && f.Name == name && f.Unit == unit })
	if i < 0 {
		return nil
	}
	return r.Figures[i]
}

// add takes in the value of a figure in one round.
func (r *webhookReport) add(measure, name, unit string, value float64) {
	f := r.find(measure, name, unit)
	if f == nil {
		f = &figure{Measure: measure, Name: name, Unit: unit}
		r.Figures = append(r.Figures, f)
	}
	f.values = append(f.values, value)
	f.Median, f.Min, f.Max, f.Rounds = median(f.values), slices.Min(f.values), slices.Max(f.values), len(f.values)
}

// addLatencies takes in the times from commit to arrival, sorted.
func (r *webhookReport) addLatencies(measure string, times []time.Duration) {
	for _, p := range []int{50, 99, 100} {
		name := "commit to arrival, p" + strconv.Itoa(p)
		if p == 100 {
			name = "commit to arrival, longest"
		}
		r.add(measure, name, "ms", percentile(times, p).Seconds()*1e3)
	}
}

// addWorkerLog takes in what the workers logged.
func (r *webhookReport) addWorkerLog(measure string, log *workerLog) {
	log.mu.Lock()
	defer log.mu.Unlock()
	if log.claims > 0 {
		r.add(measure, "a claim, p99", "ms", log.claims)
	}
	if log.relays > 0 {
		r.add(measure, "a relay, p99", "ms", log.relays)
	}
}

func (r *webhookReport) write(w io.Writer, format string) error {
	if format == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s", r.Database)
	if r.FullPageWrites != "" {
		fmt.Fprintf(&b, ", full_page_writes %s", r.FullPageWrites)
	}
	fmt.Fprintf(&b, "; %s on %s, %d CPUs; %d stores, %d events to drain, workers: %d, writers: %d;\n",
		r.Go, r.System, r.CPUs, r.Stores, r.Events, r.Workers, r.Writers)
	fmt.Fprintf(&b, "paced at %g payments/s; %d webhooks hang with %d deliveries each. Medians of rounds (least–most).\n\n",
		r.Rate, r.Hanging, r.Waiting)
	b.WriteString("| measure | figure | value | unit |\n|---|---|---:|---|\n")
	for _, f := range r.Figures {
		value := spelled(f.Median, f.Unit)
		if f.Rounds > 1 {
			value += fmt.Sprintf(" (%s–%s)", spelled(f.Min, f.Unit), spelled(f.Max, f.Unit))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", f.Measure, f.Name, value, f.Unit)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// spelled is a value with as many digits as its unit is worth.
func spelled(value float64, unit string) string {
	digits := 0
	switch unit {
	case "ms":
		digits = 1
	case "CPU-ms/event", "ratio":
		digits = 2
	}
	return strconv.FormatFloat(value, 'f', digits, 64)
}
