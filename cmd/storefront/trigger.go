package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
)

type triggerCmd struct {
	target
	Type     string   `arg:"" enum:"${events}, ping" help:"${events} or ping."`
	Store    string   `placeholder:"SLUG" help:"The store, by slug or id; not needed if there is only one."`
	Override []string `sep:"none" placeholder:"FIELD=VALUE" help:"Sets a field of the demo data, such as title=Soap or customer.email=awa@example.com; may be repeated."`
	Yes      bool     `help:"Allow a store that storefront dev did not make."`
}

// Run makes data that cause an event of the type, and prints the event.
func (c *triggerCmd) Run(s *invocation) error {
	d := newTriggerData(c.Type)
	for _, text := range c.Override {
		if err := d.override(text); err != nil {
			return err
		}
	}
	err := s.operate(c.target, func(ctx context.Context, o admin.API) error {
		if !c.Yes && !c.isDev(s) {
			return errors.New("trigger makes real data, and this is not the database of `storefront dev`; say --yes to do it all the same")
		}
		ctx, _, err := storeNamed(ctx, o, c.Store)
		if err != nil {
			return err
		}
		e, err := d.make(ctx, o)
		if err != nil {
			return err
		}
		if s.json {
			return s.print(selectFields(e, map[string]json.RawMessage{"payload": json.RawMessage(e.GetPayload())}, "id", "type",
				"createdAt", "payload"))
		}
		_, err = fmt.Fprintln(s.out, describeEvent(e))
		return err
	})
	if errors.Is(err, db.ErrNoFile) && !s.given["database-url"] {
		return errNoDev
	}
	return err
}

// isDev reports whether the command uses dev's folder, or names dev's database or server.
func (c *triggerCmd) isDev(s *invocation) bool {
	if c.AdminURL == "" {
		return s.dev != nil || c.isDevDatabase()
	}
	d := findDev()
	return d != nil && d.isRunning && d.AdminURL == strings.TrimSuffix(c.AdminURL, "/")
}

// lookBack is how many of the newest events eventOf reads, because others may cause some at the same time.
const lookBack = 100

func eventOf(ctx context.Context, o admin.API, eventType, object string) (*adminv1.Event, error) {
	out, err := o.ListEvents(ctx, &adminv1.ListEventsRequest{Type: eventType, PageSize: new(int32(lookBack))})
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(out.GetEvents(), func(e *adminv1.Event) bool {
		var payload struct{ Data struct{ ID string } }
		return json.Unmarshal([]byte(e.GetPayload()), &payload) == nil && payload.Data.ID == object
	})
	if i < 0 {
		return nil, fmt.Errorf("%s was made, but no event %s of it is found", object, eventType)
	}
	return out.GetEvents()[i], nil
}

func (d *triggerData) make(ctx context.Context, o admin.API) (*adminv1.Event, error) {
	if d.kind == hook.Ping {
		return o.CreatePing(ctx, &adminv1.CreatePingRequest{})
	}
	object, err := d.object(ctx, o)
	if err != nil {
		return nil, err
	}
	return eventOf(ctx, o, d.kind, object)
}

type triggerData struct {
	kind     string
	product  *adminv1.CreateProductRequest
	customer *storefrontv1.CreateCustomerRequest
	link     *storefrontv1.CreatePaymentLinkRequest
	order    *adminv1.CreateOrderRequest
	item     *adminv1.CreateOrderRequest_Item
	// fields has the request in which --override sets a field, by the names that it accepts.
	fields map[string]proto.Message
}

var (
	productFields  = []string{"title", "type", "priceAmount", "compareAtAmount", "slug", "summary", "description", "coverUrl"}
	customerFields = []string{"name", "email", "phone"}
	linkFields     = []string{"title", "amount", "description", "coverUrl", "thankYouMessage", "expiresAt", "maxPayments"}
)

// demoBuyer is the buyer of trigger's orders. The first order in a store creates this customer.
const demoBuyer = "buyer@example.com"

func newTriggerData(kind string) *triggerData {
	d := &triggerData{
		kind: kind,
		product: &adminv1.CreateProductRequest{
			Title: "Test product", Type: storefrontv1.Product_FILE, PriceAmount: new(int64(5000)),
			Summary:     new("Made by storefront trigger."),
			Description: new("<p>Made by storefront trigger.</p>"), ContentReady: new(true),
		},
		customer: &storefrontv1.CreateCustomerRequest{Name: "Test Customer", Email: new(newEmail())},
		link: &storefrontv1.CreatePaymentLinkRequest{Title: "Test payment link", Pricing: storefrontv1.PaymentLink_FIXED,
			Amount: new(int64(5000))},
		order:  &adminv1.CreateOrderRequest{Name: "Test Buyer", Email: new(demoBuyer)},
		item:   &adminv1.CreateOrderRequest_Item{Quantity: 1},
		fields: map[string]proto.Message{},
	}
	allow := func(prefix string, m proto.Message, names ...string) {
		for _, name := range names {
			d.fields[prefix+name] = m
		}
	}
	switch kind {
	case hook.CustomerCreated:
		allow("", d.customer, customerFields...)
	case hook.ProductPublished, hook.ProductArchived:
		allow("", d.product, productFields...)
	case hook.OrderPaid, hook.OrderFailed:
		allow("", d.order, "note")
		allow("items.", d.item, "quantity")
		allow("product.", d.product, productFields...)
		allow("customer.", d.order, customerFields...)
	case hook.PaymentLinkPaid:
		allow("", d.link, linkFields...)
		allow("customer.", d.order, customerFields...)
	}
	return d
}

func newEmail() string {
	return fmt.Sprintf("customer-%d@example.com", time.Now().UnixNano())
}

// override sets a field. text is FIELD=VALUE.
func (d *triggerData) override(text string) error {
	name, value, ok := strings.Cut(text, "=")
	m := d.fields[name]
	switch {
	case len(d.fields) == 0:
		return usage("--override: a %s has no fields", d.kind)
	case m == nil:
		return usage("--override: %s", suggestValue(fmt.Sprintf("the field must be one of %s, not %q",
			strings.Join(slices.Sorted(maps.Keys(d.fields)), ", "), name)))
	case !ok:
		return usage("--override: must be FIELD=VALUE, not %q", text)
	}
	field := name[strings.LastIndexByte(name, '.')+1:]
	member := apijson.AppendString([]byte{'{'}, field)
	f := m.ProtoReflect().Descriptor().Fields().ByJSONName(field)
	switch {
	case (f.Kind() == protoreflect.Int32Kind || f.Kind() == protoreflect.Int64Kind) && json.Valid([]byte(value)):
		member = append(append(member, ':'), value...)
	default:
		member = apijson.AppendString(append(member, ':'), value)
	}
	set := m.ProtoReflect().New().Interface()
	if err := apijson.Unmarshal(append(member, '}'), set); err != nil {
		if invalid, ok := errors.AsType[*apijson.Invalid](err); ok && len(invalid.Fields) > 0 {
			return usage("--override: %s %s", name, invalid.Fields[0].Message)
		}
		return usage("--override: %s cannot be %q", name, value)
	}
	// An order keeps a known customer's name and phone, so others need a new e-mail.
	if m == d.order && field != "email" && slices.Contains(customerFields, field) && d.order.GetEmail() == demoBuyer {
		d.order.Email = new(newEmail())
	}
	// An empty or null value must replace the demo's value, which proto.Merge would keep.
	if value := set.ProtoReflect(); f.HasPresence() && !value.Has(f) {
		m.ProtoReflect().Clear(f)
	} else {
		m.ProtoReflect().Set(f, value.Get(f))
	}
	return nil
}

func (d *triggerData) object(ctx context.Context, o admin.API) (string, error) {
	switch d.kind {
	case hook.CustomerCreated:
		known, err := isKnown(ctx, o, d.customer)
		if err != nil {
			return "", err
		}
		if known {
			return "", errors.New("the store has a customer with this e-mail or phone already, so that none was created")
		}
		made, err := o.CreateCustomer(ctx, d.customer)
		return made.GetId(), err
	case hook.ProductPublished:
		d.product.Status = storefrontv1.Product_PUBLISHED.Enum()
		made, err := o.CreateProduct(ctx, d.product)
		return made.GetId(), err
	case hook.ProductArchived:
		made, err := o.CreateProduct(ctx, d.product)
		if err != nil {
			return "", err
		}
		made, err = o.UpdateProduct(ctx, &storefrontv1.UpdateProductRequest{Id: made.GetId(), Status: storefrontv1.Product_ARCHIVED.Enum()})
		return made.GetId(), err
	case hook.PaymentLinkPaid:
		link, err := o.CreatePaymentLink(ctx, d.link)
		if err != nil {
			return "", err
		}
		d.order.PaymentLinkId = link.GetId()
	case hook.OrderPaid, hook.OrderFailed:
		product, err := o.CreateProduct(ctx, d.product)
		if err != nil {
			return "", err
		}
		d.item.ProductId = product.GetId()
		d.order.Items = []*adminv1.CreateOrderRequest_Item{d.item}
	default:
		return "", fmt.Errorf("trigger cannot make %s yet", d.kind)
	}
	order, err := o.CreateOrder(ctx, d.order)
	if err != nil {
		return "", err
	}
	if d.kind == hook.OrderFailed {
		order, err = o.FailOrder(ctx, &adminv1.FailOrderRequest{Id: order.GetId()})
	} else {
		order, err = o.PayOrder(ctx, &adminv1.PayOrderRequest{Id: order.GetId()})
	}
	return order.GetId(), err
}
