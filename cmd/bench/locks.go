package main

import (
	"context"
	"database/sql"
	"time"
)

const (
	// lockedChanges is how many clients change the locked customer at a time.
	lockedChanges = 12
	// lockDeadline is long enough for another store's requests on a busy machine.
	lockDeadline = 3 * time.Second
)

// playRowLock holds the lock on a customer's row, or SQLite's lock to write, while clients try to change the customer. It
// measures another store's reads.
func playRowLock(p *play) {
	s, held := p.lockStage()
	customer := s.stores[0].customer
	keys := &rotation{stores: s.stores[:1]}
	changes := closedLoop{
		address: s.server.api, clients: lockedChanges, pause: greedyPause,
		next: keys.repeat("PATCH", "/v1/customers/"+customer.String(), `{"name":"Ada Changed"}`),
	}
	var asked []call
	var freed time.Time
	watched := p.watch(p.bystander(s), func() {
		tx := p.begin(s)
		if !p.sqlite { // on SQLite the transaction itself has the lock to write
			_, err := tx.ExecContext(p.ctx, "SELECT id FROM customers WHERE id = $1 FOR UPDATE", customer)
			p.require(err)
		}
		stop := changes.start(p.ctx)
		p.wait(held)
		p.require(tx.Rollback())
		freed = time.Now()
		p.wait(recoveryBound)
		asked = stop()
	})
	p.logf("a row held for %s and changed by %d clients: %s", held, lockedChanges, p.answerSummary(asked))
	p.mustMeetDeadline("change", asked, lockDeadline)
	p.mustRecover(watched, freed, fairP99, "after the row is free")
	p.mustBeFair(watched)
}

// playTableLock holds a lock on the table of keys, which every request needs.
func playTableLock(p *play) {
	s, held := p.lockStage()
	var freed time.Time
	watched := p.watch(p.bystander(s), func() {
		tx := p.begin(s)
		_, err := tx.ExecContext(p.ctx, "LOCK TABLE api_keys IN ACCESS EXCLUSIVE MODE")
		p.require(err)
		p.wait(held)
		p.require(tx.Rollback())
		freed = time.Now()
		p.wait(2 * recoveryBound)
	})
	p.logf("the table of the keys held for %s: %s", held, p.answerSummary(watched))
	p.mustMeetDeadline("request", watched, lockDeadline)
	p.mustRecover(watched, freed, fairP99, "after the table is free")
}

// lockStage starts a server. The lock is held longer than the server's deadline, so that the scene shows whether requests end
// by then.
func (p *play) lockStage() (s *stage, held time.Duration) {
	s = p.open(shape{stores: 2})
	p.require(s.serve(p.ctx, "--request-timeout="+lockDeadline.String()))
	return s, max(p.Span, lockDeadline+busySlack+time.Second)
}

// begin begins a transaction that is rolled back at the end of the scene, if it is still open.
func (p *play) begin(s *stage) *sql.Tx {
	handle, err := s.open(p.ctx)
	p.require(err)
	tx, err := handle.Writer().BeginTx(context.WithoutCancel(p.ctx), nil)
	p.require(err)
	p.cleanup(func() error {
		_ = tx.Rollback() // the scene has already ended the transaction
		return nil
	})
	return tx
}
