package main

import (
	"cmp"
	"context"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"go.storefront.example/ent/apijson"
	"go.storefront.example/ent/db"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/admin"
	"go.storefront.example/server/validate"
)

// none clears a field that can be null or empty.
const none = "none"

func isNone(text []byte) bool { return len(text) == 0 || string(text) == none }

// orNone is the value of a flag that also accepts none.
type orNone[V any] struct{ value *V } // nil for the word none

func (o *orNone[V]) UnmarshalText(text []byte) error {
	o.value = nil
	if isNone(text) {
		return nil
	}
	value := new(V)
	switch v := any(value).(type) {
	case *string:
		*v = string(text)
	case encoding.TextUnmarshaler:
		if err := v.UnmarshalText(text); err != nil {
			return errors.New(strings.Replace(err.Error(), ", not ", ", or none, not ", 1))
		}
	}
	o.value = value
	return nil
}

// MarshalJSON returns null for none.
func (o orNone[V]) MarshalJSON() ([]byte, error) { return json.Marshal(o.value) }

func (o *orNone[V]) resolve(ctx context.Context, api admin.API, currency func() (string, error)) error {
	if value, ok := any(o.value).(resolvable); ok && o.value != nil {
		return value.resolve(ctx, api, currency)
	}
	return nil
}

// amount is in minor units, or has a decimal point and is converted by the store's currency.
type amount struct {
	minor   int64
	decimal string // the number with a decimal point; "" if the user gave smallest units
}

// UnmarshalText reads minor units, or a number with a decimal point.
func (a *amount) UnmarshalText(text []byte) error {
	*a = amount{}
	n, err := strconv.ParseInt(string(text), 10, 64)
	// Until the store's currency is known, read the number in CLF, which has the most decimals.
	if _, notDecimal := validate.ParseDecimal(string(text), "CLF"); err != nil && notDecimal == nil {
		a.decimal, n, err = string(text), 0, nil
	}
	if err != nil || n < 0 || n > validate.MaxAmount {
		return fmt.Errorf("must be a whole number of minor units from 0 to %d, or one with a decimal point such as 15.50, not %q",
			int64(validate.MaxAmount), text)
	}
	a.minor = n
	return nil
}

// MarshalJSON returns the number of minor units.
func (a amount) MarshalJSON() ([]byte, error) { return json.Marshal(a.minor) }

func (a *amount) resolve(_ context.Context, _ admin.API, currency func() (string, error)) error {
	if a.decimal == "" {
		return nil
	}
	unit, err := currency()
	if err != nil {
		return err
	}
	if a.minor, err = validate.ParseDecimal(a.decimal, unit); err != nil {
		return usageError{fmt.Errorf("%w, not %q", err, a.decimal)}
	}
	return nil
}

// instant is a date-time, or how long ago by the clock of the database or server.
type instant struct {
	at  time.Time
	ago *time.Duration // how long ago; nil if at is the time
}

// UnmarshalText reads an RFC 3339 date-time, a date, or how long ago it was, such as 7d.
func (i *instant) UnmarshalText(text []byte) error {
	if at, err := timeOf(string(text)); err == nil {
		*i = instant{at: at}
		return nil
	}
	ago, err := lengthOf(string(text))
	if err != nil || ago < 0 {
		return fmt.Errorf("must be a time such as 2026-10-01T12:00:00Z or 2026-10-01, or how long ago it was, such as 30m, 1h or "+
			"7d, not %q", text)
	}
	*i = instant{ago: &ago}
	return nil
}

// MarshalJSON needs resolve first.
func (i instant) MarshalJSON() ([]byte, error) { return apijson.AppendTime(nil, i.at), nil }

func (i *instant) resolve(ctx context.Context, o admin.API, _ func() (string, error)) error {
	if i.ago == nil {
		return nil
	}
	now, err := o.Now(ctx)
	if err == nil {
		*i = instant{at: now.Add(-*i.ago)}
	}
	return err
}

// date is a date-time, or a date, which means the beginning of that day in UTC.
type date struct{ time.Time }

// UnmarshalText reads a date-time or a date.
func (d *date) UnmarshalText(text []byte) (err error) {
	if d.Time, err = timeOf(string(text)); err != nil {
		return fmt.Errorf("must be a time such as 2026-12-31T23:59:59Z or 2026-12-31, not %q", text)
	}
	return nil
}

// MarshalJSON returns a date-time.
func (d date) MarshalJSON() ([]byte, error) { return apijson.AppendTime(nil, d.Time), nil }

// timeOf reads a date-time, or a date as the beginning of that day in UTC.
func timeOf(text string) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day, nil
	}
	return apijson.ParseTime(text)
}

// lengthOf reads a duration such as 90s, 1h30m or 7d. A day has 24 hours.
func lengthOf(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.ParseUint(days, 10, 16)
		return time.Duration(n) * 24 * time.Hour, err //nolint:gosec // n is at most 65,535
	}
	return time.ParseDuration(text)
}

// minTag and greatestTag are tags with the shortest and the longest duration that a flag accepts.
const (
	minTag      = "least"
	greatestTag = "greatest"
)

type durationMapper struct{}

func (durationMapper) Decode(k *kong.DecodeContext, target reflect.Value) error {
	var text string
	if err := k.Scan.PopValueInto("duration", &text); err != nil {
		return err
	}
	least, err := time.ParseDuration(cmp.Or(k.Value.Tag.Get(minTag), "1ms"))
	if err != nil {
		return err
	}
	greatest, form := time.Duration(math.MaxInt64), "must be a time such as 10s, 5m, 72h or 30d, not %q"
	if bound := k.Value.Tag.Get(greatestTag); bound != "" {
		if greatest, err = time.ParseDuration(bound); err != nil {
			return err
		}
		form = "must be a time from " + k.Value.Tag.Get(minTag) + " to " + bound + ", such as " + k.Value.Default + ", not %q"
	}
	length, err := lengthOf(text)
	if err != nil || length < least || length > greatest {
		return fmt.Errorf(form, text)
	}
	target.SetInt(int64(length))
	return nil
}

type count int

func (c *count) UnmarshalText(text []byte) error {
	n, err := strconv.ParseInt(string(text), 10, 32)
	if errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("must be a whole number from 1 to %d, not %q", math.MaxInt32, text)
	}
	if err != nil || n < 1 {
		return fmt.Errorf("must be a whole number from 1, not %q", text)
	}
	*c = count(n)
	return nil
}

type conns int

// UnmarshalText reads a whole number from db.MinTotalConns.
func (c *conns) UnmarshalText(text []byte) error {
	n, err := strconv.ParseInt(string(text), 10, 16)
	if err != nil || n < db.MinTotalConns {
		return fmt.Errorf("must be a whole number from %d to %d, not %q", db.MinTotalConns, math.MaxInt16, text)
	}
	*c = conns(n)
	return nil
}

type percent float64

func (p *percent) UnmarshalText(text []byte) error {
	f, err := strconv.ParseFloat(string(text), 64)
	if err != nil || !(f >= 0 && f <= 100) {
		return fmt.Errorf("must be a percentage from 0 to 100, not %q", text)
	}
	*p = percent(f)
	return nil
}

type onOff bool

// UnmarshalText also reads true and false, to which YAML readers may convert on and off.
func (o *onOff) UnmarshalText(text []byte) error {
	switch string(text) {
	case "on", "true":
		*o = true
	case "off", "false":
		*o = false
	default:
		return fmt.Errorf("must be on or off, not %q", text)
	}
	return nil
}

// network is a range of IP addresses. The zero value contains none.
type network struct{ prefix netip.Prefix }

// UnmarshalText reads a range such as 10.0.0.0/8, one address, or none.
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
	// Treat an IPv4 address in IPv6 form, such as ::ffff:10.0.0.1, as IPv4.
	if inIPv6 := 128 - 32; prefix.Addr().Is4In6() && prefix.Bits() >= inIPv6 {
		prefix = netip.PrefixFrom(prefix.Addr().Unmap(), prefix.Bits()-inIPv6)
	}
	n.prefix = prefix.Masked()
	return nil
}

// publicURL is the public address of the stores' pages; "" means the default.
type publicURL string

// UnmarshalText refuses a query or a fragment, because paths are appended to the address.
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

type apiURL string

// origin matches a URL without a path, and no character that HTML or JSON would escape.
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

type orderLine struct {
	product  string
	quantity int32
}

// UnmarshalText reads NAME or NAME:QTY, where NAME is a product's id or slug.
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

// productTypes is a list of types. A list of only "none" means no type.
type productTypes []productType

type productType string

// UnmarshalText reads a type in any case, or none.
func (t *productType) UnmarshalText(text []byte) error {
	name := strings.ToUpper(strings.TrimSpace(string(text)))
	if storefrontv1.Product_Type_value[name] == 0 && !isNone(text) {
		return fmt.Errorf("must be FILE, COURSE, LICENSE, MEETING, EVENT or none, not %q", text)
	}
	*t = productType(name)
	return nil
}

// MarshalJSON leaves out items "none".
func (t productTypes) MarshalJSON() ([]byte, error) {
	names := []string{}
	for _, name := range t {
		if !isNone([]byte(strings.ToLower(string(name)))) {
			names = append(names, string(name))
		}
	}
	return json.Marshal(names)
}

// socials are a store's pages in social networks. A list of only "none" means no page.
type socials []social

type social struct{ network, address string }

// UnmarshalText reads NETWORK=URL or none.
func (s *social) UnmarshalText(text []byte) error {
	name, address, ok := strings.Cut(string(text), "=")
	if severalPages.MatchString(address) || !isNone(text) && (!ok || name == "") {
		return fmt.Errorf("must be one NETWORK=URL, such as facebook=https://facebook.com/shop, and the flag again for each other "+
			"page, not %q", text)
	}
	*s = social{name, address}
	return nil
}

// severalPages matches the separator of a list of pages.
var severalPages = regexp.MustCompile(`, *[A-Za-z]+=https?:`)

// resolve refuses two pages in one network, because only one would be stored.
func (s *socials) resolve(context.Context, admin.API, func() (string, error)) error {
	seen := map[string]bool{}
	for _, page := range *s {
		if seen[page.network] {
			return usage("has %s twice, and only one page would be stored", page.network)
		}
		seen[page.network] = true
	}
	return nil
}

// MarshalJSON maps the networks to the URLs. An item "none" adds no member.
func (s socials) MarshalJSON() ([]byte, error) {
	pages := map[string]string{}
	for _, page := range s {
		if !isNone([]byte(page.network)) {
			pages[page.network] = page.address
		}
	}
	return json.Marshal(pages)
}

// rateLimit is in requests a minute. The text off means as many as a counter can count.
type rateLimit int

func (r *rateLimit) UnmarshalText(text []byte) error {
	n, err := strconv.ParseInt(string(text), 10, 32)
	if value := string(text); value == "off" || value == "false" { // YAML readers may convert off to false
		n, err = math.MaxInt32, nil
	}
	if err != nil || n < 1 {
		return errors.New("must be off or a number of at least 1")
	}
	*r = rateLimit(n)
	return nil
}
