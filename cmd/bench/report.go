package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"time"
)

// report is the outcome of a run, as -o json prints it.
type report struct {
	Database    string  `json:"database"`
	Go          string  `json:"go"`
	System      string  `json:"system"`
	CPUs        int     `json:"cpus"`
	Connections int     `json:"connections"`
	Rounds      int     `json:"rounds"`
	Seconds     float64 `json:"seconds"`
	Stores      int     `json:"stores"`
	Keys        int     `json:"keys"`
	Products    int     `json:"products"`
	Orders      int     `json:"orders"`
	Customers   int     `json:"customers"`
	// ServiceOnly are the fields that the service answers and the yardstick does not know.
	ServiceOnly []string   `json:"serviceOnly"`
	Operations  []measured `json:"operations"`

	inProcess bool
}

// measured is one operation on both sides.
type measured struct {
	Operation string  `json:"operation"`
	Service   figures `json:"service"`
	Yardstick figures `json:"yardstick"`
	// Ratio is the service's requests a second over the yardstick's, of the rounds that were run
	// one after the other.
	Ratio ratio `json:"ratio"`

	title string
}

type ratio struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
}

// figures are one side's: requests a second are the median of its rounds, the rest is over all of
// them. CPU times are null where the system does not tell; what SQLite uses is the server's.
type figures struct {
	RequestsPerSecond float64  `json:"requestsPerSecond"`
	P50Millis         float64  `json:"p50Ms"`
	P99Millis         float64  `json:"p99Ms"`
	ServerCPUMicros   *float64 `json:"serverCpuUs"`
	DatabaseCPUMicros *float64 `json:"databaseCpuUs"`
}

func newReport(c *apiCommand, db *database) *report {
	return &report{
		Database: db.name, Go: runtime.Version(), System: runtime.GOOS + "/" + runtime.GOARCH, CPUs: runtime.NumCPU(),
		Connections: c.Connections, Rounds: c.Rounds, Seconds: c.Seconds,
		Stores: c.Stores, Keys: c.Keys * c.Stores, Products: c.Products, Orders: c.Orders, Customers: c.Customers,
		inProcess: db.inProcess(),
	}
}

func (r *report) add(o operation, rounds [2][]round) {
	m := measured{Operation: o.name, title: o.title, Service: r.figures(rounds[0]), Yardstick: r.figures(rounds[1])}
	ratios := make([]float64, len(rounds[0]))
	for i := range ratios {
		ratios[i] = rounds[0][i].rate() / rounds[1][i].rate()
	}
	m.Ratio = ratio{median(ratios), slices.Min(ratios), slices.Max(ratios)}
	r.Operations = append(r.Operations, m)
}

func (r *report) figures(rounds []round) figures {
	var rates []float64
	var latencies []time.Duration
	var server, database time.Duration
	measuredCPU := true
	for _, n := range rounds {
		rates = append(rates, n.rate())
		latencies = append(latencies, n.latencies...)
		server += n.serverCPU
		database += n.databaseCPU
		measuredCPU = measuredCPU && n.measuredCPU
	}
	slices.Sort(latencies)
	f := figures{
		RequestsPerSecond: median(rates),
		P50Millis:         percentile(latencies, 50).Seconds() * 1e3,
		P99Millis:         percentile(latencies, 99).Seconds() * 1e3,
	}
	if measuredCPU {
		perRequest := func(d time.Duration) *float64 {
			micros := d.Seconds() * 1e6 / float64(len(latencies))
			return &micros
		}
		f.ServerCPUMicros = perRequest(server)
		if !r.inProcess {
			f.DatabaseCPUMicros = perRequest(database)
		}
	}
	return f
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func (r *report) write(w io.Writer, format string) error {
	if format == "json" {
		encoder := json.NewEncoder(w)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s; %s on %s, %d CPUs; %d connections, %d rounds of %g s on each side in turns;\n",
		r.Database, r.Go, r.System, r.CPUs, r.Connections, r.Rounds, r.Seconds)
	fmt.Fprintf(&b, "%d stores, %d keys, %d products, %d orders, %d customers. Each cell: service / yardstick.\n\n",
		r.Stores, r.Keys, r.Products, r.Orders, r.Customers)
	if len(r.ServiceOnly) > 0 {
		fmt.Fprintf(&b, "The service answers more than the yardstick: %s.\n\n", strings.Join(r.ServiceOnly, ", "))
	}
	b.WriteString("| operation | requests/s | p50 ms | p99 ms | server CPU µs | database CPU µs | ratio (min–max) |\n")
	b.WriteString("|---|---:|---:|---:|---:|---:|---:|\n")
	for _, m := range r.Operations {
		s, y := m.Service, m.Yardstick
		fmt.Fprintf(&b, "| %s | %.0f / %.0f | %.2f / %.2f | %.2f / %.2f | %s | %s | %.2f (%.2f–%.2f) |\n", m.title,
			s.RequestsPerSecond, y.RequestsPerSecond, s.P50Millis, y.P50Millis, s.P99Millis, y.P99Millis,
			r.cpu(s.ServerCPUMicros, y.ServerCPUMicros, false), r.cpu(s.DatabaseCPUMicros, y.DatabaseCPUMicros, r.inProcess),
			m.Ratio.Median, m.Ratio.Min, m.Ratio.Max)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (*report) cpu(service, yardstick *float64, inProcess bool) string {
	switch {
	case inProcess:
		return "in the server"
	case service == nil || yardstick == nil:
		return "n/a"
	}
	return fmt.Sprintf("%.0f / %.0f", *service, *yardstick)
}
