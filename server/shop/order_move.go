package shop

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/google/uuid"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/resource"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/customer"
	"go.storefront.example/gen/ent/order"
	"go.storefront.example/gen/ent/paymentlink"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/validate"
)

// orderMoves has, for each new status of an order, the statuses from which an order may change to it.
var orderMoves = map[order.Status]struct {
	from []order.Status
	// updateTotals changes the totals of the customer and the payment link; nil changes none.
	updateTotals func(*hook.Change, lockedOrder) error
}{
	order.StatusPAID:      {from: []order.Status{order.StatusPENDING, order.StatusFAILED}, updateTotals: countPayment},
	order.StatusFAILED:    {from: []order.Status{order.StatusPENDING}},
	order.StatusCANCELLED: {from: []order.Status{order.StatusPENDING}},
	order.StatusREFUNDED:  {from: []order.Status{order.StatusPAID}, updateTotals: countRefund},
}

func countPayment(c *hook.Change, o lockedOrder) error {
	if err := o.checkPayable(); err != nil {
		return err
	}
	if err := o.addPaid(c, o.Row.Amount); err != nil || o.link == nil {
		return err
	}
	return c.Tx.PaymentLink.Update().Where(paymentlink.StoreID(o.Row.StoreID), paymentlink.ID(o.link.ID)).
		AddPaidCount(1).AddPaidAmount(o.Row.Amount).SetLastPaidAt(c.Time(o.link.ID)).Exec(c)
}

func countRefund(c *hook.Change, o lockedOrder) error {
	return o.addPaid(c, -o.Row.Amount)
}

// lockedOrder is an order with its customer and its payment link, all locked, so that the answer, the events and a GET after
// the commit show the same values.
type lockedOrder struct {
	*resource.LockedOrder
	link *ent.PaymentLink // nil for an order from the catalogue
}

// checkPayable refuses a payment that would take a total beyond validate.MaxAmount.
func (o lockedOrder) checkPayable() error {
	switch {
	case o.Buyer.TotalPaid > validate.MaxAmount-o.Row.Amount:
		return apierr.New(apierr.TotalLimit,
			fmt.Sprintf("The customer's totalPaid is %d and cannot pass %d.", o.Buyer.TotalPaid, int64(validate.MaxAmount)))
	case o.link == nil:
	case o.link.PaidAmount > validate.MaxAmount-o.Row.Amount:
		return apierr.New(apierr.TotalLimit,
			fmt.Sprintf("The payment link's paidAmount is %d and cannot pass %d.", o.link.PaidAmount, int64(validate.MaxAmount)))
	case o.link.PaidCount == math.MaxInt32:
		return apierr.New(apierr.TotalLimit, "The payment link has as many payments as can be counted.")
	}
	return nil
}

func (o lockedOrder) addPaid(c *hook.Change, amount int64) error {
	return c.Tx.Customer.Update().Where(customer.StoreID(o.Row.StoreID), customer.ID(o.Buyer.ID)).AddTotalPaid(amount).Exec(c)
}

// MoveOrder changes an order's status; an order that has it already does not change. A payment is added to the customer's
// totalPaid and to the link's counters. A refund is subtracted from totalPaid only, because the link counts payments.
func (s *Shop) MoveOrder(ctx context.Context, id string, to order.Status) (*storefrontv1.Order, error) {
	orderID, ok := validate.ParseID(id)
	if !ok {
		return nil, orderNotFound()
	}
	return hook.Answer(ctx, s.db.ForStore(ctx), Once("order."+strings.ToLower(to.String()), orderID,
		func(c *hook.Change) (*storefrontv1.Order, error) {
			o, err := lockOrder(c, orderID)
			if err != nil {
				return nil, err
			}
			if o.Row.Status != to {
				err = o.move(c, to)
			}
			return o.Order, err
		}))
}

// move changes the order's status, after updateTotals has changed the totals of its customer and payment link.
func (o lockedOrder) move(c *hook.Change, to order.Status) error {
	move := orderMoves[to]
	if !slices.Contains(move.from, o.Row.Status) {
		return apierr.New(apierr.OrderTransition, fmt.Sprintf("The order is %s and cannot become %s.", o.Row.Status, to))
	}
	if move.updateTotals != nil {
		if err := move.updateTotals(c, o); err != nil {
			return fmt.Errorf("move the order: %w", err)
		}
	}
	u := c.Tx.Order.UpdateOne(o.Row).SetStatus(to)
	if to == order.StatusPAID {
		at := c.Time(o.Row.ID)
		u.SetPaidAt(at)
		o.Order.PaidAt = apijson.Timestamp(at)
	}
	o.Order.Status = storefrontv1.Order_Status(storefrontv1.Order_Status_value[to.String()])
	if err := u.Exec(c); err != nil {
		return fmt.Errorf("move the order: %w", err)
	}
	return nil
}

// lockOrder locks an order, its customer and its payment link, in this sequence.
func lockOrder(c *hook.Change, id uuid.UUID) (o lockedOrder, err error) {
	o.LockedOrder, err = resource.LockOrder(c, c.Tx, c.Store, id, c.DB.RowLock(resource.LockedRows))
	switch {
	case errors.Is(err, resource.ErrNotFound):
		return o, orderNotFound()
	case err != nil:
		return o, err
	}
	if err := c.MarkLocked(o.Row, o.Buyer); err != nil || o.Row.PaymentLinkID == nil {
		return o, err
	}
	if o.link, err = lockPaymentLink(c, o.Row.PaymentLinkID.String()); err != nil {
		return o, fmt.Errorf("read the order's payment link: %w", err)
	}
	// Another transaction may have changed the link since LockOrder read it.
	o.Order.PaymentLink.Code, o.Order.PaymentLink.Title = o.link.Code, o.link.Title
	return o, nil
}
