package main

import (
	"context"
	"fmt"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/validate"
)

// none is the word that clears a value that can be null or empty.
const none = "none"

// isNone reports whether a value clears what its flag sets: the word, or nothing.
func isNone(text []byte) bool { return len(text) == 0 || string(text) == none }

// amount is an amount of money: a whole number of minor units, as in the API, or one with a decimal point, in the
// currency's own unit, which settle converts.
type amount struct {
	minor   int64
	decimal string // as it was given, "" for minor units
}

// UnmarshalText reads an amount.
func (a *amount) UnmarshalText(text []byte) error {
	*a = amount{}
	n, err := strconv.ParseInt(string(text), 10, 64)
	// The currency with the most decimals, until it is known which one it is.
	if _, notDecimal := validate.ParseAmount(string(text), "CLF"); notDecimal == nil {
		a.decimal, n, err = string(text), 0, nil
	}
	if err != nil || n < 0 || n > validate.MaxAmount {
		return fmt.Errorf("must be a whole number of minor units from 0 to %d, or one with a decimal point such as 15.50, not %q",
			int64(validate.MaxAmount), text)
	}
	a.minor = n
	return nil
}

// units is the field that an amount sets, nil for a flag that is left out. settle fills it in later.
func (a *amount) units() *int64 {
	if a == nil {
		return nil
	}
	return &a.minor
}

// amounts are flags by their names, with what they are given.
type amounts map[string]*amount

// settle converts what was given with a decimal point. It asks for the currency only then.
func (all amounts) settle(currency func() (string, error)) error {
	for name, a := range all {
		if a == nil || a.decimal == "" {
			continue
		}
		unit, err := currency()
		if err != nil {
			return err
		}
		if a.minor, err = validate.ParseAmount(a.decimal, unit); err != nil {
			return usage("--%s: %w", name, err)
		}
	}
	return nil
}

// currencyOf returns how to find a store's currency.
func currencyOf(ctx context.Context, o admin.API, store string) func() (string, error) {
	return func() (string, error) {
		found, err := o.GetStore(ctx, &adminv1.GetStoreRequest{Store: store})
		return found.GetCurrency(), err
	}
}

// orNone is what a flag sets a field to, or none, which clears it. The zero value is a flag that is
// left out.
type orNone[V any] struct {
	given bool
	value *V // nil for none
}

// put sets a field of an update, and adds its name to those that are cleared if the flag says none.
func (o orNone[V]) put(field **V, name string, cleared *[]string) {
	*field = o.value
	if o.given && o.value == nil {
		*cleared = append(*cleared, name)
	}
}

// amountOrNone is an amount, or none.
type amountOrNone struct {
	given bool
	value *amount // nil for none
}

// UnmarshalText reads an amount or none.
func (a *amountOrNone) UnmarshalText(text []byte) error {
	a.given, a.value = true, nil
	if isNone(text) {
		return nil
	}
	a.value = &amount{}
	if err := a.value.UnmarshalText(text); err != nil {
		return fmt.Errorf("%w, or none", err)
	}
	return nil
}

// put is that of orNone.
func (a amountOrNone) put(field **int64, name string, cleared *[]string) {
	orNone[int64]{a.given, a.value.units()}.put(field, name, cleared)
}

// textOrNone is a text, or none.
type textOrNone struct{ orNone[string] }

// UnmarshalText reads a text or none.
func (t *textOrNone) UnmarshalText(text []byte) error {
	t.given, t.value = true, nil
	if s := string(text); !isNone(text) {
		t.value = &s
	}
	return nil
}

// countOrNone is a count, or none.
type countOrNone struct{ orNone[int32] }

// UnmarshalText reads a count or none.
func (c *countOrNone) UnmarshalText(text []byte) error {
	c.given, c.value = true, nil
	if isNone(text) {
		return nil
	}
	var n count
	if err := n.UnmarshalText(text); err != nil {
		return fmt.Errorf("%w, or none", err)
	}
	c.value = number[int32](&n)
	return nil
}

// count is a whole number from 1.
type count int

// UnmarshalText reads a count.
func (c *count) UnmarshalText(text []byte) error {
	n, err := strconv.ParseInt(string(text), 10, 32)
	if err != nil || n < 1 {
		return fmt.Errorf("must be a whole number from 1, not %q", text)
	}
	*c = count(n)
	return nil
}

// percent is a percentage from 0 to 100.
type percent float64

// UnmarshalText reads a percentage.
func (p *percent) UnmarshalText(text []byte) error {
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(f >= 0 && f <= 100) {
		return fmt.Errorf("must be a percentage from 0 to 100, not %q", text)
	}
	*p = percent(f)
	return nil
}

// onOff is a switch.
type onOff bool

// UnmarshalText reads on or off.
func (o *onOff) UnmarshalText(text []byte) error {
	switch string(text) {
	case "on":
		*o = true
	case "off":
		*o = false
	default:
		return fmt.Errorf("must be on or off, not %q", text)
	}
	return nil
}

// network is an address or a range of addresses; none is the zero value.
type network struct{ prefix netip.Prefix }

// UnmarshalText reads a CIDR such as 10.0.0.0/8, one address, or none.
func (n *network) UnmarshalText(text []byte) error {
	n.prefix = netip.Prefix{}
	if isNone(text) {
		return nil
	}
	prefix, err := netip.ParsePrefix(string(text))
	if address, notOne := netip.ParseAddr(string(text)); notOne == nil {
		prefix, err = netip.PrefixFrom(address, address.BitLen()), nil
	}
	if err != nil {
		return fmt.Errorf("must be addresses or ranges such as 10.0.0.0/8, not %q", text)
	}
	// An IPv4 address in IPv6's form is compared as what it is.
	if inIPv6 := 128 - 32; prefix.Addr().Is4In6() && prefix.Bits() >= inIPv6 {
		prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-inIPv6)
	}
	n.prefix = prefix.Masked()
	return nil
}

// publicURL is the public address setting; empty is the default.
type publicURL string

// UnmarshalText reads an http or https address to which a path can be appended.
func (u *publicURL) UnmarshalText(text []byte) error {
	value := string(text)
	var p validate.Problems
	address := p.URL("", &value)
	if p.Any() || address != nil && strings.ContainsAny(*address, "?#") {
		return fmt.Errorf("must be an http or https address without a query, such as https://shops.example.com, not %q", text)
	}
	*u = publicURL(strings.TrimSpace(value))
	return nil
}

// apiURL is the public address of the API; empty is the default.
type apiURL string

// origin is an address without a path: nothing that HTML or JSON would escape.
var origin = regexp.MustCompile(`^https?://([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:\d+)?$`)

// UnmarshalText reads an http or https address without a path.
func (u *apiURL) UnmarshalText(text []byte) error {
	value := strings.TrimSuffix(strings.TrimSpace(string(text)), "/")
	if value != "" && !origin.MatchString(value) {
		return fmt.Errorf("must be an http or https address without a path, such as https://api.example.com, not %q", text)
	}
	*u = apiURL(value)
	return nil
}

// orderLine is a product's id or slug and how many of it.
type orderLine struct {
	product  string
	quantity int32
}

// UnmarshalText reads NAME or NAME:QTY.
func (l *orderLine) UnmarshalText(text []byte) error {
	product, quantity, many := strings.Cut(string(text), ":")
	if product == "" {
		return fmt.Errorf("must be a product's id or slug, with :QTY after it for more than one, not %q", text)
	}
	n := count(1)
	if many {
		if err := n.UnmarshalText([]byte(quantity)); err != nil {
			return fmt.Errorf("must be NAME or NAME:QTY; the quantity %w", err)
		}
	}
	*l = orderLine{product, int32(n)}
	return nil
}

// productType is a type of product; none is the zero value.
type productType storefrontv1.Product_Type

// UnmarshalText reads a type or none.
func (t *productType) UnmarshalText(text []byte) error {
	value := storefrontv1.Product_Type_value[strings.ToUpper(strings.TrimSpace(string(text)))]
	if value == 0 && !isNone(text) {
		return fmt.Errorf("must be FILE, COURSE, LICENSE, MEETING, EVENT or none, not %q", text)
	}
	*t = productType(value)
	return nil
}

// social is a network's name and an address, or none.
type social struct{ network, address string }

// UnmarshalText reads NETWORK=URL or none.
func (s *social) UnmarshalText(text []byte) error {
	name, address, ok := strings.Cut(string(text), "=")
	if !isNone(text) && (!ok || name == "") {
		return fmt.Errorf("must be NETWORK=URL, such as facebook=https://facebook.com/shop, not %q", text)
	}
	if isNone(text) {
		name = none
	}
	*s = social{name, address}
	return nil
}
