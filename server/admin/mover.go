package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/move"
	"go.storefront.example/ent/tenant"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	"go.storefront.example/server/apierr"
)

const (
	// shortPass is how long a pass over the differences may take, at most, for the freeze to follow; after maxPasses it does.
	shortPass, maxPasses = 2 * time.Second, 5
	// lookBack is how far a pass looks back before the begin of the one before: as long as no transaction lasts.
	lookBack = time.Minute
	// leaveOut is how old a row must be to be copied while the store sells, so that what it refers to has been copied.
	leaveOut = 2 * time.Second
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

// Run moves the store, or goes on with a move that was interrupted. After an error before the switch the store sells on at the
// old place.
func (m *Mover) Run(ctx context.Context) (done Moved, err error) {
	at, err := m.From.GetMove(ctx, &adminv1.GetMoveRequest{Store: m.Store})
	if err != nil {
		return done, err
	}
	m.Store, done.Store = at.GetStoreId(), at.GetStoreId()
	if at.GetStep() == tenant.Moved {
		if at.GetMovedTo() != m.ToAddress {
			return done, fmt.Errorf("the store has moved to %s: name that to go on", at.GetMovedTo())
		}
		return done, m.open(ctx)
	}
	if at, err = m.step(ctx, tenant.Copying); err != nil {
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
	pass := func(selling bool) error {
		now := at.GetNow().AsTime()
		var before *timestamppb.Timestamp
		if selling {
			before = apijson.Timestamp(now.Add(-leaveOut))
		}
		for _, t := range move.Tables {
			if t.Queue && !selling { // nobody sends
				continue
			}
			if err := m.copy(ctx, t, since, before); err != nil {
				return fmt.Errorf("copy %s: %w", t.Name, err)
			}
		}
		since = apijson.Timestamp(now.Add(-lookBack))
		return nil
	}
	for range maxPasses {
		began := time.Now()
		if err := pass(true); err != nil {
			return done, err
		}
		if at, err = m.From.GetMove(ctx, &adminv1.GetMoveRequest{Store: m.Store}); err != nil {
			return done, err
		}
		if time.Since(began) < shortPass {
			break
		}
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
	if err := pass(true); err != nil {
		return done, err
	}
	began := time.Now()
	if at, err = m.step(ctx, tenant.Frozen); err != nil {
		return done, err
	}
	if err := pass(false); err != nil {
		return done, err
	}
	if _, err = m.From.SetMove(ctx, &adminv1.SetMoveRequest{Store: m.Store, Step: tenant.Moved, MovedTo: m.ToAddress,
		RedirectTo: m.RedirectTo}); err != nil {
		return done, err
	}
	switched = true
	if err := m.open(ctx); err != nil {
		return done, fmt.Errorf("%w; the store has left the old place, and answers nowhere until this is run again", err)
	}
	done.Frozen = time.Since(began)
	return done, nil
}

func (m *Mover) step(ctx context.Context, name string) (*adminv1.Move, error) {
	return m.From.SetMove(ctx, &adminv1.SetMoveRequest{Store: m.Store, Step: name})
}

// open opens the store at the new place, once the old one has moved, and then takes from the old one what it was to send.
func (m *Mover) open(ctx context.Context) error {
	there, err := m.To.GetMove(ctx, &adminv1.GetMoveRequest{Store: m.Store})
	if err == nil && there.GetStep() == tenant.Arriving {
		_, err = m.To.SetMove(ctx, &adminv1.SetMoveRequest{Store: m.Store})
	}
	if err != nil {
		return fmt.Errorf("open the store at the new place: %w", err)
	}
	_, err = m.From.SetMove(ctx, &adminv1.SetMoveRequest{Store: m.Store, Step: tenant.Moved, MovedTo: m.ToAddress,
		RedirectTo: m.RedirectTo})
	return err
}

// Abort takes a move back that has not come to the switch, and has the copy at the new place deleted.
func (m *Mover) Abort(ctx context.Context) error {
	at, err := m.From.GetMove(ctx, &adminv1.GetMoveRequest{Store: m.Store})
	if err != nil {
		return err
	}
	m.Store = at.GetStoreId()
	switch at.GetStep() {
	case tenant.Moved:
		return errors.New("the store has moved: there is no way back but to move it here again, once this copy is deleted")
	case tenant.Arriving:
		return errors.New("the store arrives here: take the move back where it comes from")
	case "":
	default:
		if _, err := m.step(ctx, ""); err != nil {
			return err
		}
	}
	there, err := m.To.GetMove(ctx, &adminv1.GetMoveRequest{Store: m.Store})
	if refused, is := errors.AsType[*apierr.Refusal](err); is && refused.Code == apierr.StoreNotFound {
		return nil
	}
	if err == nil && there.GetStep() == tenant.Arriving {
		_, err = m.To.DeleteStore(ctx, &adminv1.DeleteStoreRequest{Store: m.Store, GraceSeconds: new(int64(0)),
			ConfirmSlug: there.GetSlug()})
	}
	if err != nil {
		return fmt.Errorf("the store stays; delete the copy at the new place: %w", err)
	}
	return nil
}

// copy makes a table at the new place as it is at the old one.
func (m *Mover) copy(ctx context.Context, t move.Table, since, before *timestamppb.Timestamp) error {
	list := func(at API, after, until string) (ids []string, versions []int64, more bool, err error) {
		out, err := at.ListRows(ctx, &adminv1.ListRowsRequest{Store: m.Store, Table: t.Name, After: after, Until: until,
			ChangedSince: since, CreatedBefore: before})
		if err != nil {
			return nil, nil, false, err
		}
		if len(out.GetIds()) != len(out.GetVersions()) {
			return nil, nil, false, errors.New("the list of rows is of another form: both places must be of one release")
		}
		return out.GetIds(), out.GetVersions(), out.GetMore(), nil
	}
	for after, more := "", true; more; {
		var ids []string
		var versions []int64
		var err error
		if ids, versions, more, err = list(m.From, after, ""); err != nil {
			return err
		}
		until := ""
		if more {
			until = ids[len(ids)-1]
		}
		there := map[string]int64{}
		for from, rest := after, t.Name != "stores"; rest; {
			var found []string
			var of []int64
			if found, of, rest, err = list(m.To, from, until); err != nil {
				return err
			}
			for i, id := range found {
				there[id], from = of[i], id
			}
		}
		var missing, gone []string
		for i, id := range ids {
			if version, is := there[id]; !is || version != versions[i] {
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
		in := &adminv1.WriteRowsRequest{Store: m.Store, Table: t.Name, Rows: &adminv1.Rows{}}
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
