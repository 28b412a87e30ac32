package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/move"
	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/apierr"
)

const (
	// shortPass is how long a pass over the differences may take, at most, for the next step to follow; after maxPasses it does.
	shortPass, maxPasses = 2 * time.Second, 5
	// lookBack is how far a pass looks back before the begin of the one before: as long as no transaction lasts.
	lookBack = time.Minute
	// lastLeaveOut is the leaveOut of the last passes before the freeze, which has little left to copy then.
	lastLeaveOut = 2 * time.Second
	// attemptsPatience is how long attempts of deliveries may last: as long as their leases.
	attemptsPatience = 5 * time.Minute
)

// Mover moves a store from one installation to another.
type Mover struct {
	From, To API
	Store    string
	// ToAddress is noted at the old place; RedirectTo is where requests are sent to from there, if it is not empty.
	ToAddress, RedirectTo string
	// Report is called with what is being done.
	Report func(string)

	run  string // its name
	rows int
}

// Moved is what a move did.
type Moved struct {
	// Store is the id of the store, Rows how many rows were written at the new place, some of them again.
	Store string
	Rows  int
	// Frozen is for how long nothing of the store could be changed.
	Frozen time.Duration
}

// Run moves the store, or goes on with a move that was interrupted; a run beside another takes over from it. After an error
// before the switch the store sells on at the old place.
func (m *Mover) Run(ctx context.Context) (done Moved, err error) {
	at, err := m.From.GetMove(ctx, &adminv1.GetMoveRequest{Store: m.Store})
	if err != nil {
		return done, err
	}
	m.Store, m.run, done.Store = at.GetStoreId(), uuid.NewString(), at.GetStoreId()
	if at.GetStep() == tenant.Moved {
		if at.GetMovedTo() != m.ToAddress {
			return done, fmt.Errorf("the store has moved to %s: name that to go on", at.GetMovedTo())
		}
		if _, err := m.step(ctx, tenant.Moved); err != nil { // perhaps with another redirect
			return done, err
		}
		return done, m.open(ctx)
	}
	if err := m.checkPlace(ctx, at.GetStep() == ""); err != nil {
		return done, err
	}
	if at, err = m.From.SetMove(ctx, &adminv1.SetMoveRequest{Store: m.Store, Step: tenant.Copying, Run: m.run,
		Begin: true}); err != nil {
		return done, err
	}
	switched := false
	defer func() {
		done.Rows = m.rows
		if err != nil && !switched {
			back, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
			defer cancel()
			_, failed := m.step(back, tenant.Copying) // nobody waits for whoever runs it again
			err = errors.Join(err, failed)
		}
	}()
	var since *timestamppb.Timestamp
	// A pass leaves out what is younger than this, so that what the others refer to is there; nothing if it is 0.
	pass := func(leaveOut time.Duration) error {
		now := at.GetNow().AsTime()
		var before *timestamppb.Timestamp
		if leaveOut > 0 {
			before = apijson.Timestamp(now.Add(-leaveOut))
		}
		for _, t := range move.Tables {
			if err := m.copy(ctx, t, since, before); err != nil {
				return fmt.Errorf("copy %s: %w", t.Name, err)
			}
		}
		since = apijson.Timestamp(now.Add(-lookBack))
		return nil
	}
	passes := func(leaveOut time.Duration) error {
		for range maxPasses {
			began := time.Now()
			if err := pass(leaveOut); err != nil {
				return err
			}
			if at, err = m.From.GetMove(ctx, &adminv1.GetMoveRequest{Store: m.Store}); err != nil || time.Since(began) < shortPass {
				return err
			}
		}
		return nil
	}
	if err := passes(lookBack); err != nil {
		return done, err
	}
	m.Report("waiting for attempts of deliveries")
	if at, err = m.step(ctx, tenant.Draining); err != nil {
		return done, err
	}
	for began := time.Now(); at.GetAttempts() > 0; time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > attemptsPatience {
			return done, fmt.Errorf("%d attempts of deliveries do not end; is a worker stuck?", at.GetAttempts())
		}
		if at, err = m.From.GetMove(ctx, &adminv1.GetMoveRequest{Store: m.Store}); err != nil {
			return done, err
		}
	}
	if err := passes(lastLeaveOut); err != nil {
		return done, err
	}
	began := time.Now()
	if at, err = m.step(ctx, tenant.Frozen); err != nil {
		return done, err
	}
	if err := pass(0); err != nil {
		return done, err
	}
	if _, err = m.step(ctx, tenant.Moved); err != nil {
		return done, err
	}
	switched = true
	if err := m.open(ctx); err != nil {
		return done, err
	}
	done.Frozen = time.Since(began)
	return done, nil
}

// checkPlace checks that the new place can take the store: that it is not there, or arrives by the move that goes on.
func (m *Mover) checkPlace(ctx context.Context, begins bool) error {
	there, err := m.To.GetMove(ctx, &adminv1.GetMoveRequest{Store: m.Store})
	switch {
	case apierr.Is(err, apierr.StoreNotFound):
		return nil
	case err != nil:
		return fmt.Errorf("look for the store at the new place: %w", err)
	case there.GetStep() != tenant.Arriving:
		return errors.New("the store is at the new place already, perhaps as a copy that an earlier move has left: delete that first")
	case begins: // it may have what was forgotten since
		return fmt.Errorf("a copy of a move that was taken back is at the new place: delete it there, with `storefront store delete %s "+
			"--now %[1]s`, and wait until `storefront store list` has it no more", there.GetSlug())
	}
	return nil
}

func (m *Mover) step(ctx context.Context, name string) (*adminv1.Move, error) {
	in := &adminv1.SetMoveRequest{Store: m.Store, Step: name, Run: m.run}
	if name == tenant.Moved {
		in.MovedTo, in.RedirectTo = m.ToAddress, m.RedirectTo
	}
	return m.From.SetMove(ctx, in)
}

// open opens the store at the new place, once the old one has moved.
func (m *Mover) open(ctx context.Context) error {
	there, err := m.To.GetMove(ctx, &adminv1.GetMoveRequest{Store: m.Store})
	if err == nil && there.GetStep() == tenant.Arriving {
		_, err = m.To.SetMove(ctx, &adminv1.SetMoveRequest{Store: m.Store})
	}
	if err != nil {
		return fmt.Errorf("open the store at the new place: %w; it has left the old one, and answers nowhere until this is run again",
			err)
	}
	return nil
}

// Abort takes a move back that has not opened the store at the new place, and has the copy there deleted. Without To it takes
// back any, for a new place that is lost.
func (m *Mover) Abort(ctx context.Context) error {
	at, err := m.From.GetMove(ctx, &adminv1.GetMoveRequest{Store: m.Store})
	if err != nil {
		return err
	}
	m.Store = at.GetStoreId()
	if at.GetStep() == tenant.Arriving {
		return errors.New("the store arrives here: take the move back where it comes from")
	}
	if m.To == nil {
		return m.takeBack(ctx)
	}
	there, err := m.To.GetMove(ctx, &adminv1.GetMoveRequest{Store: m.Store})
	switch {
	case apierr.Is(err, apierr.StoreNotFound):
	case at.GetStep() == tenant.Moved && err == nil && there.GetStep() != tenant.Arriving:
		return errors.New("the store is open at the new place: there is no way back but to move it here again, once this copy is deleted")
	case at.GetStep() == tenant.Moved && err != nil:
		return fmt.Errorf("the store may be open at the new place: %w", err)
	}
	arrives := err == nil && there.GetStep() == tenant.Arriving
	remove := func() error {
		_, err := m.To.DeleteStore(ctx, &adminv1.DeleteStoreRequest{Store: m.Store, GraceSeconds: new(int64(0)),
			ConfirmSlug: there.GetSlug()})
		return err
	}
	if arrives && at.GetStep() == tenant.Moved { // so that it cannot be opened meanwhile
		if err := remove(); err != nil {
			return fmt.Errorf("delete the copy at the new place: %w", err)
		}
		arrives = false
	}
	if at.GetStep() != "" {
		if err := m.takeBack(ctx); err != nil {
			return err
		}
	}
	if arrives {
		err = remove()
	}
	if err != nil && !apierr.Is(err, apierr.StoreNotFound) {
		return fmt.Errorf("the store stays; delete the copy at the new place: %w", err)
	}
	return nil
}

func (m *Mover) takeBack(ctx context.Context) error {
	_, err := m.From.SetMove(ctx, &adminv1.SetMoveRequest{Store: m.Store, Begin: true})
	return err
}

// copy makes a table at the new place as it is at the old one.
func (m *Mover) copy(ctx context.Context, t move.Table, since, before *timestamppb.Timestamp) error {
	list := func(at API, after, until string) (ids []string, versions []string, more bool, err error) {
		out, err := at.ListRows(ctx, &adminv1.ListRowsRequest{Store: m.Store, Table: t.Name, After: after, Until: until,
			ChangedSince: since, CreatedBefore: before})
		return out.GetIds(), out.GetVersions(), out.GetMore(), err
	}
	for after, more := uuid.Nil.String(), true; more; {
		var ids []string
		var versions []string
		var err error
		until := uuid.Max.String()
		if ids, versions, more, err = list(m.From, after, until); err != nil {
			return err
		}
		if more {
			until = ids[len(ids)-1]
		}
		there := map[string]string{}
		for from, rest := after, t.Name != "stores"; rest; {
			var found []string
			var of []string
			if found, of, rest, err = list(m.To, from, until); err != nil {
				return err
			}
			for i, id := range found {
				there[id], from = of[i], id
			}
		}
		var missing, gone []string
		for i, id := range ids {
			if version, is := there[id]; !is || version != versions[i] || t.Small {
				missing = append(missing, id)
			}
			delete(there, id)
		}
		for id := range there {
			if t.Whole() {
				gone = append(gone, id)
			}
		}
		if err := m.transfer(ctx, t, missing, gone); err != nil {
			return err
		}
		after = until
	}
	return nil
}

func (m *Mover) transfer(ctx context.Context, t move.Table, missing, gone []string) error {
	for len(missing) > 0 || len(gone) > 0 {
		in := &adminv1.WriteRowsRequest{Store: m.Store, Table: t.Name, Rows: &adminv1.Rows{}, Run: m.run}
		n := min(len(gone), maxMoved)
		in.Gone, gone = gone[:n], gone[n:]
		if len(missing) > 0 {
			var err error
			in.Rows, err = m.From.ReadRows(ctx, &adminv1.ReadRowsRequest{Store: m.Store, Table: t.Name,
				Ids: missing[:min(len(missing), maxMoved)]})
			if err != nil {
				return err
			}
			looked := int(in.GetRows().GetLookedAt())
			if looked < 1 || looked > len(missing) {
				return errors.New("the rows are of another form: both places must be of one release")
			}
			missing = missing[looked:]
		}
		if _, err := m.To.WriteRows(ctx, in); err != nil {
			return err
		}
		m.rows += len(in.GetRows().GetRows())
		m.Report(fmt.Sprintf("copying %s: %d rows in all", t.Name, m.rows))
	}
	return nil
}
