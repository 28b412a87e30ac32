package service

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/resource"
	"go.storefront.example/ent/tenant"
	"go.storefront.example/gen/ent"
	"go.storefront.example/gen/ent/customer"
	"go.storefront.example/gen/ent/order"
	"go.storefront.example/gen/ent/paymentlink"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/apierr"
	"go.storefront.example/server/validate"
)

// PayOrder marks a PENDING or FAILED order as PAID, adds it to what its customer paid and to its
// payment link's counters, and sends order.paid, and payment_link.paid when it came through a
// link. Paying a paid order changes nothing and sends nothing.
//
// It refuses with order_not_found, order_transition_invalid, or total_limit when the payment would
// take the customer's totalPaid or the link's paidAmount past validate.MaxAmount.
func (s *Shop) PayOrder(ctx context.Context, id string) (*storefrontv1.Order, error) {
	return s.moveOrder(ctx, id, order.StatusPAID, []order.Status{order.StatusPENDING, order.StatusFAILED},
		func(ctx context.Context, tx *ent.Tx, o takenOrder, u *ent.OrderUpdateOne) error {
			if err := o.payable(); err != nil {
				return err
			}
			u.SetPaidAt(hook.Time(ctx))
			if err := o.addPaid(ctx, tx, o.row.Amount); err != nil || o.link == nil {
				return err
			}
			return o.countPayment(ctx, tx)
		})
}

// FailOrder marks a PENDING order as FAILED and sends order.failed. It refuses with
// order_not_found or order_transition_invalid.
func (s *Shop) FailOrder(ctx context.Context, id string) (*storefrontv1.Order, error) {
	return s.moveOrder(ctx, id, order.StatusFAILED, []order.Status{order.StatusPENDING}, nil)
}

// CancelOrder marks a PENDING order as CANCELLED. It refuses with order_not_found or
// order_transition_invalid.
func (s *Shop) CancelOrder(ctx context.Context, id string) (*storefrontv1.Order, error) {
	return s.moveOrder(ctx, id, order.StatusCANCELLED, []order.Status{order.StatusPENDING}, nil)
}

// RefundOrder marks a PAID order as REFUNDED and takes it out of what its customer paid; a
// payment link's counters show the payments taken and stay. It refuses with order_not_found or
// order_transition_invalid.
func (s *Shop) RefundOrder(ctx context.Context, id string) (*storefrontv1.Order, error) {
	return s.moveOrder(ctx, id, order.StatusREFUNDED, []order.Status{order.StatusPAID},
		func(ctx context.Context, tx *ent.Tx, o takenOrder, _ *ent.OrderUpdateOne) error {
			return o.addPaid(ctx, tx, -o.row.Amount)
		})
}

// takenOrder is an order with all that it shows, which nobody else changes before the commit: so
// that the answer, the events and a GET after the commit show the same buyer and the same link.
type takenOrder struct {
	row   *ent.Order
	buyer *ent.Customer
	link  *ent.PaymentLink // nil for an order from the catalogue
}

// payable refuses a payment after which a total could not be written as a number any more.
func (o takenOrder) payable() error {
	switch {
	case o.buyer.TotalPaid > validate.MaxAmount-o.row.Amount:
		return apierr.New(apierr.TotalLimit, fmt.Sprintf("The customer's totalPaid is %d and cannot pass %d.", o.buyer.TotalPaid, int64(validate.MaxAmount)))
	case o.link == nil:
	case o.link.PaidAmount > validate.MaxAmount-o.row.Amount:
		return apierr.New(apierr.TotalLimit, fmt.Sprintf("The payment link's paidAmount is %d and cannot pass %d.", o.link.PaidAmount, int64(validate.MaxAmount)))
	case o.link.PaidCount == math.MaxInt32:
		return apierr.New(apierr.TotalLimit, "The payment link has as many payments as can be counted.")
	}
	return nil
}

// The counters of a customer and of a payment link follow from its orders, without a journal entry
// or an event. So they bypass the query builder, which would read the rows again.
const (
	addTotalPaid = `UPDATE customers SET total_paid = total_paid + $1 WHERE store_id = $2 AND id = $3`
	addPayment   = `UPDATE payment_links SET paid_count = paid_count + 1, paid_amount = paid_amount + $1, last_paid_at = $2
 WHERE store_id = $3 AND id = $4`
)

func (o takenOrder) addPaid(ctx context.Context, tx *ent.Tx, amount int64) error {
	if _, err := tx.ExecContext(ctx, addTotalPaid, amount, o.row.StoreID, o.buyer.ID); err != nil {
		return fmt.Errorf("add to what the customer paid: %w", err)
	}
	return nil
}

func (o takenOrder) countPayment(ctx context.Context, tx *ent.Tx) error {
	if _, err := tx.ExecContext(ctx, addPayment, o.row.Amount, hook.Time(ctx), o.row.StoreID, o.link.ID); err != nil {
		return fmt.Errorf("count the payment link's payment: %w", err)
	}
	return nil
}

// moveOrder moves an order to a status from one of those that lead there, and does what goes
// with it. An order that is there already stays as it is.
func (s *Shop) moveOrder(ctx context.Context, id string, to order.Status, from []order.Status,
	with func(context.Context, *ent.Tx, takenOrder, *ent.OrderUpdateOne) error,
) (*storefrontv1.Order, error) {
	t, err := tenantOf(ctx)
	if err != nil {
		return nil, err
	}
	orderID, ok := validate.ParseID(id)
	if !ok {
		return nil, orderNotFound()
	}
	return s.once(ctx, t, "order."+strings.ToLower(to.String()), orderID, func(ctx context.Context, tx *ent.Tx) (*storefrontv1.Order, error) {
		row, err := db.Take(ctx, s.store, tx.Order.Query().Where(order.StoreID(t.ID), order.ID(orderID)))
		if err := readError("order", err, orderNotFound); err != nil {
			return nil, err
		}
		switch {
		case row.Status != to && !slices.Contains(from, row.Status):
			return nil, apierr.New(apierr.OrderTransition, fmt.Sprintf("The order is %s and cannot become %s.", row.Status, to))
		case row.Status == to:
			return resource.FindOrder(ctx, tx, t, orderID)
		}
		o, err := s.takeShown(ctx, tx, t, row)
		if err != nil {
			return nil, err
		}
		u := row.Update().SetStatus(to).SetUpdatedAt(hook.Time(ctx))
		if with != nil {
			if err := with(ctx, tx, o, u); err != nil {
				return nil, err
			}
		}
		if err := u.Exec(ctx); err != nil {
			return nil, fmt.Errorf("move order to %s: %w", to, err)
		}
		answer, err := resource.FindOrder(ctx, tx, t, orderID)
		if err != nil {
			return nil, err
		}
		hook.Shown(ctx, orderID, answer)
		return answer, nil
	})
}

// takeShown takes what an order shows, behind the order itself.
func (s *Shop) takeShown(ctx context.Context, tx *ent.Tx, t tenant.Store, row *ent.Order) (takenOrder, error) {
	o := takenOrder{row: row}
	var err error
	o.buyer, err = db.Take(ctx, s.store, tx.Customer.Query().Where(customer.StoreID(t.ID), customer.ID(row.CustomerID)))
	if err != nil {
		return o, fmt.Errorf("read the order's customer: %w", err)
	}
	if row.PaymentLinkID == nil {
		return o, nil
	}
	o.link, err = db.Take(ctx, s.store, tx.PaymentLink.Query().Where(paymentlink.StoreID(t.ID), paymentlink.ID(*row.PaymentLinkID)))
	if err != nil {
		return o, fmt.Errorf("read the order's payment link: %w", err)
	}
	return o, nil
}
