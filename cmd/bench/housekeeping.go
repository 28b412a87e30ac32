package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"go.storefront.example/ent/db"
	"go.storefront.example/gen/ent"
)

const (
	// housekeepingP99 is the largest p99 of another store's writes during housekeeping.
	housekeepingP99 = 100 * time.Millisecond
	// writerRate is in customers a second, in the watched store.
	writerRate = 50
	// deletedStore, forgettingStore and exportedStore are indexes of the housekeepingStores stores.
	deletedStore, forgettingStore, exportedStore, housekeepingStores = 0, 1, 2, 4
	// housekeepingPause keeps the starts of programs from taking much of the processor time.
	housekeepingPause = 200 * time.Millisecond
	// buyerRate is in customers a second, created in forgettingStore beforehand.
	buyerRate = 200
)

// playHousekeeping deletes a store with many customers, erases buyers of a second, exports a third, keeps an export's snapshot
// open, and on SQLite makes backups. It measures the writes of a fourth.
func playHousekeeping(p *play) {
	s := p.open(shape{stores: housekeepingStores, firstCustomers: p.Customers})
	p.require(s.serve(p.ctx))
	p.require(s.startWorkers(p.ctx, 1))
	handle, err := s.open(p.ctx)
	p.require(err)
	p.underLoad(func() { p.wait(p.quietTime()) }, p.creator(s, forgettingStore, buyerRate))

	before := p.underLoad(func() { p.wait(p.quietTime()) }, p.writer(s))
	p.countAnswers(before)
	h := &housekeeping{play: p, stage: s}
	during := p.underLoad(func() {
		ctx, stop := context.WithTimeout(p.ctx, p.Span)
		defer stop()
		_, err := s.command(p.ctx, "store", "delete", s.stores[deletedStore].slug, "--now", s.stores[deletedStore].slug)
		p.require(err)
		p.require(handle.Snapshot(p.ctx, db.ReaderExport, func(within context.Context, tx *ent.Tx) error {
			if _, err := tx.Store.Query().Count(within); err != nil {
				return err
			}
			h.repeat(ctx)
			return nil
		}))
	}, p.writer(s))
	p.before, p.during = latencies(before), latencies(during)
	p.require(h.err)
	remaining := 0
	p.require(handle.Reader().QueryRowContext(p.ctx, "SELECT count(*) FROM customers WHERE store_id = $1", s.stores[deletedStore].id).
		Scan(&remaining))
	p.logf("%d buyers forgotten, %d exports, %d backups, and %d of %d customers deleted in %s", h.done["customer"], h.done["export"],
		h.done["backup"], p.Customers-remaining, p.Customers, p.Span)
	p.logf("another store's writes: %s", p.answerSummary(during))
	counts := p.countAnswers(during)
	p.must(counts[refused]+counts[limited] == 0, "another store's writes are never refused (%d of %d were)",
		counts[refused]+counts[limited], len(during))
	p99 := percentile(p.during, 99)
	p.mustFast(p99 < housekeepingP99, "their p99 stays under %s (%s)", housekeepingP99, roundLatency(p99))
	p.mustFast(h.done["customer"] > 0 && remaining < p.Customers, "forgetting and deletion get on beside the open export")
}

// writer creates customers in the watched store, which is the last one.
func (p *play) writer(s *stage) *openLoop { return p.creator(s, housekeepingStores-1, writerRate) }

// housekeeping runs the operator's commands again and again.
type housekeeping struct {
	*play
	*stage
	mu   sync.Mutex
	done map[string]int
	err  error
}

// repeat runs each command in a goroutine until ctx ends.
func (h *housekeeping) repeat(ctx context.Context) {
	h.done = map[string]int{}
	var group sync.WaitGroup
	for name, command := range map[string]func(n int) error{"customer": h.forget, "export": h.export, "backup": h.backup} {
		if name == "backup" && !h.sqlite {
			continue
		}
		group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				err := command(n)
				h.mu.Lock()
				if err != nil && h.err == nil {
					h.err = err
				}
				h.done[name]++
				h.mu.Unlock()
				_ = wait(ctx, housekeepingPause) // wait fails only if the context has ended, and then the loop ends
			}
		})
	}
	group.Wait()
}

func (h *housekeeping) forget(n int) error {
	slug, email := h.stores[forgettingStore].slug, fmt.Sprintf("leaves.%d@example.com", n)
	if _, err := h.command(h.ctx, "customer", "create", "--store", slug, "--email", email); err != nil {
		return err
	}
	_, err := h.command(h.ctx, "customer", "forget", email, "--store", slug, "--yes")
	return err
}

func (h *housekeeping) export(n int) error {
	_, err := h.command(h.ctx, "export", "--store", h.stores[exportedStore].slug, filepath.Join(h.folder, "export-"+strconv.Itoa(n)))
	return err
}

func (h *housekeeping) backup(n int) error {
	_, err := h.command(h.ctx, "backup", "--to", filepath.Join(h.folder, "backup-"+strconv.Itoa(n)+".db"))
	return err
}
