package importfile

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"maps"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/ent/apijson"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
	"go.storefront.example/server/shop"
	"go.storefront.example/server/transfer"
	"go.storefront.example/server/validate"
)

type builder struct {
	*loader
	*record
	entry *entry
	// price is the lowest of the variations of a product without a price, if priced is true.
	price  int64
	priced bool
}

func (b *builder) build() {
	b.refuseRounded()
	b.checkFurtherLines()
	switch b.Kind {
	case transfer.Products:
		b.entry.message = b.product()
	case transfer.Customers:
		b.entry.message = b.customer()
	case transfer.Orders:
		b.entry.message = b.order()
	}
	b.copyFields(b.entry.message.ProtoReflect())
	b.noteColumns()
}

// note adds a remark on a field on a line of the record, counted from 0.
func (b *builder) note(line int, field, problem string) {
	value, column := b.valueOn(line, field)
	b.entry.lost = append(b.entry.lost, LineError{Line: b.lines[line].number, Column: column, Problem: problem, Value: value})
}

// noValue matches what spreadsheets write for an error, and databases and programs for an empty value.
var noValue = regexp.MustCompile(`^(?:#[\p{Lu}/0-9]+[!?]|#N/A|#NV|Err:\d+|NULL|null|NaN|nan|None|undefined|FALSE|False|false)$`)

var nameFields = []string{"name", "firstName", "lastName", "title", "itemTitle"}

// noteColumns remarks on values that are left out because another column of the field has another value, and on names that are
// no names. It passes over the country, which is not stored, and other spellings of a phone.
func (b *builder) noteColumns() {
	for at, name := range b.record.table.header {
		field := b.record.table.headerFields[at]
		if field == "" || field == "country" {
			continue
		}
		for i, line := range b.lines {
			value, column := b.valueOn(i, field)
			other := b.cell(i, at)
			problem := "is left out: " + column + " is read, which has another value"
			switch {
			case slices.Contains(nameFields, field) && other == value && noValue.MatchString(value):
				problem = "is stored, but is what programs write for an empty or a wrong value"
			case other == "", strings.EqualFold(other, value), field == "phone" && samePhone(value, other):
				continue
			}
			b.entry.lost = append(b.entry.lost, LineError{Line: line.number, Column: name, Problem: problem, Value: other})
		}
	}
}

// samePhone ignores the country's code, zeros before it, and signs between the digits.
func samePhone(a, b string) bool {
	a, b = notDigits.ReplaceAllString(a, ""), notDigits.ReplaceAllString(b, "")
	return min(len(a), len(b)) > 5 && (strings.HasSuffix(a, b) || strings.HasSuffix(b, a))
}

var notDigits = regexp.MustCompile(`^[^1-9]+|\D+`)

// idFields name the row's object, or an object to which the row refers.
var idFields = []string{"id", "sku", "slug", "reference", "customer", "paymentLink", "parent", "itemProduct", "itemSku"}

// roundedNumber matches a number such as 1.23457E+12, in any language, whose last digits a spreadsheet has dropped, but not a
// code such as 12E5.
var roundedNumber = regexp.MustCompile(`^'?[+-]?\d+(?:[.,\x{066B}]\d+)?[eE]\+\d{1,3}$`)

const rounded = "is a number that a spreadsheet has rounded, so that its last digits are lost: format the column as text and save " +
	"the file from its source again"

func (b *builder) refuseRounded() {
	for _, field := range idFields {
		for i, line := range b.lines {
			value, column := b.valueOn(i, field)
			if bad := (LineError{Line: line.number, Column: column, Problem: rounded, Value: value}); roundedNumber.MatchString(value) &&
				!slices.Contains(b.entry.bad, bad) {
				b.entry.bad = append(b.entry.bad, bad)
			}
		}
	}
}

// checkFurtherLines compares a record's further lines, of which only items are imported, with the first. A difference makes an
// order bad, because the lines may be two orders, unless it is from a shop's export: then it is a remark, as are equal lines,
// which joined files may have.
func (b *builder) checkFurtherLines() {
	same := map[string]int{} // the number of the first line with the same values
	for _, line := range b.lines {
		text := strings.Join(line.values, "\x00")
		if first := same[text]; first == 0 {
			same[text] = line.number
		} else if b.Kind == transfer.Orders {
			b.entry.lost = append(b.entry.lost, LineError{Line: line.number, Problem: "is the same as a line further up, and is read as " +
				"another item of the order", Related: fmt.Sprint("line ", first)})
		}
	}
	for i := range b.lines[1:] {
		for _, field := range slices.Sorted(maps.Keys(b.source.Columns)) {
			value, column := b.valueOn(i+1, field)
			if value == "" || strings.HasPrefix(field, "item") || value == b.value(field) || field == "email" || field == b.record.table.Group {
				continue
			}
			if b.Kind == transfer.Orders && !b.source.shop {
				b.entry.bad = append(b.entry.bad, LineError{Line: b.lines[i+1].number, Column: column, Value: value,
					Problem: "is not that of the first line of the order; give each order its own reference"})
			} else {
				b.note(i+1, field, "is left out: only the first line of several is read")
			}
		}
	}
}

// fieldsOf has the file's fields for a message's field, by which locate finds a refused field's column. A missing field has the
// same name in both.
var fieldsOf = map[string][]string{
	"priceAmount": {"price", "priceAmount"}, "compareAtAmount": {"compareAt", "compareAtAmount"},
	"totalPaid": {"total", "totalPaid"}, "amount": {"total", "amount"}, "reference": {"reference", "id"},
	"name": {"name", "firstName"}, "customer.name": {"name", "firstName"}, "customer.email": {"email"}, "customer.phone": {"phone"},
	"id": {"id", "sku", "reference"}, "customer.id": {"customer", "email"}, "customer": {"email"}, "paymentLink.id": {"paymentLink"},
	"productId": {"itemProduct"}, "type": {"itemType"}, "title": {"itemTitle", "itemSku", "itemProduct"}, "quantity": {"itemQuantity"},
	"unitAmount": {"itemPrice", "itemTotal"},
}

var itemField = regexp.MustCompile(`^items\[(\d+)\]\.(\w+)$`)

func (b *builder) locate(field string) (column string, line int, value string) {
	at, names := 0, fieldsOf[field]
	if item := itemField.FindStringSubmatch(field); item != nil && b.value("items") == "" {
		n, _ := strconv.Atoi(item[1])
		at, names = b.itemLine(n), fieldsOf[item[2]]
	} else if b.Kind != transfer.Orders && (field == "type" || field == "title") {
		names = nil
	}
	names = append(slices.Clone(names), field)
	for _, name := range names {
		if len(b.record.table.columnsOf(name)) > 0 {
			value, column = b.valueOn(at, name)
			return column, b.lines[at].number, value
		}
	}
	if b.record.table.separator == 0 {
		return field, b.lines[at].number, ""
	}
	return names[0], b.lines[at].number, ""
}

// itemLine returns the line of the order's item n, both counted from 0, or 0.
func (b *builder) itemLine(n int) int {
	for i := range b.lines {
		if b.hasItem(i) {
			if n == 0 {
				return i
			}
			n--
		}
	}
	return 0
}

func (b *builder) optional(field string) *string {
	if value := b.value(field); value != "" {
		return &value
	}
	return nil
}

// amount returns minor units: of units, such as 12.50, or else of minor, in minor units. given is false if both are empty. A
// wrong amount or another currency is a problem of the message's field target.
func (b *builder) amount(line int, target, units, minor string) (n int64, given bool) {
	currency := cmp.Or(b.currency(), b.loader.Store.GetCurrency())
	text, minorColumn := b.valueOn(line, minor)
	if inUnits, column := b.valueOn(line, units); inUnits != "" {
		n, err := validate.ParseAmount(inUnits, currency)
		if err != nil {
			b.entry.refuse(target, err.Error())
		} else if text != "" && text != strconv.FormatInt(n, 10) {
			b.note(line, minor, "is left out: "+column+" is read, which has another value")
		}
		return n, true
	}
	if text == "" {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	switch {
	case err != nil:
		b.entry.refuse(target, "must be a whole number of minor units (--map "+mapping(minorColumn, units)+" reads amounts such as 12.50)")
	case n != 0 && validate.Decimals(currency) > 0 && (b.record.table.separator != 0 || // a person's Amount may be in the main unit
		slices.ContainsFunc(b.Columns, func(c Column) bool { return c.Field != "" })): // and so may another program's in JSON
		b.note(line, minor, "is in minor units")
		b.entry.lost[len(b.entry.lost)-1].Value += " is " + validate.FormatAmount(n, currency)
	}
	return n, true
}

func (b *builder) timestamp(field string) *timestamppb.Timestamp {
	if d := b.date(field); d != nil {
		return timestamppb.New(d.at)
	}
	return nil
}

// zeros are the characters of MySQL's date for none, 0000-00-00 00:00:00.
const zeros = "0-/.: "

// date returns nil if the field is empty or refused, and remarks on a date without a zone.
func (b *builder) date(field string) *date {
	text, column := b.valueOn(0, field)
	if strings.Trim(text, zeros) == "" {
		return nil
	}
	note := func(problem string) {
		remark := LineError{Line: b.lines[0].number, Column: column, Problem: problem, Value: text}
		if !slices.Contains(b.entry.lost, remark) { // copyFields reads a date again that is read as none
			b.entry.lost = append(b.entry.lost, remark)
		}
	}
	names := column
	if clock, clockColumn := b.valueOn(0, "time"); clock != "" && field == "createdAt" {
		if !strings.HasPrefix(clock, text) { // Gumroad's column for the time also has the date
			clock = text + " " + clock
		}
		text, names = clock, names+" "+clockColumn
	}
	var zone *time.Location
	if b.source.Zone == "UTC" || zoneInName.MatchString(names) {
		zone = time.UTC
	}
	d, err := b.dates.parse(text, zone)
	if err != nil {
		b.entry.refuse(field, err.Error())
		return nil
	}
	if d.at.Before(time.Time{}.AddDate(0, 0, 2)) { // in every zone
		note("is what programs of .NET write for no date, and is read as none")
		return nil
	}
	if now := time.Now(); strings.HasSuffix(field, "At") && (d.at.After(now.AddDate(0, 0, 1)) || d.at.Before(now.AddDate(-50, 0, 0))) {
		note("is in the future or more than 50 years ago")
	}
	switch {
	case d.repeatedHour:
		note("is a time that " + b.dates.zone.String() + " had twice that day, because clocks were set back; the first is taken")
	case !d.zoned && b.TimeZone == "":
		note("has no time zone and is read as UTC; --time-zone reads it as another")
	case !d.zoned:
		note("has no time zone and is read as " + b.dates.zone.String())
	}
	return &d
}

// zoneInName matches a column such as Created (UTC) or date_created_gmt, whose dates are in UTC.
var zoneInName = regexp.MustCompile(`(?i)(?:^|[^a-z])(?:utc|gmt)(?:[^a-z]|$)`)

// count returns 0 for an empty field, and refuses what int32 cannot hold as a problem of target.
func (b *builder) count(line int, field, target string) int64 {
	text, _ := b.valueOn(line, field)
	if text == "" {
		return 0
	}
	n, err := validate.ParseAmount(text, "EUR") // 1.000 may be one or a thousand, as in an amount with two decimals
	switch {
	case errors.Is(err, validate.ErrAmbiguous):
		b.entry.refuse(target, "can be read in two ways: write it as a whole number without separators")
	case err != nil || n%100 != 0 || n/100 > math.MaxInt32:
		b.entry.refuse(target, "must be a whole number")
		n = 0
	}
	return n / 100
}

// statusWord drops WooCommerce's prefix wc- and normalizes, so that all spellings are equal.
func statusWord(text string) string {
	return normalize(strings.TrimPrefix(strings.TrimSpace(text), "wc-"))
}

// word returns the number of the field's name in values, or 0 if the field is empty. Another name is a problem of target.
func (b *builder) word(line int, field, target string, values map[string]int32) int32 {
	text, _ := b.valueOn(line, field)
	if text == "" {
		return 0
	}
	word := strings.ToUpper(text)
	if field == "status" {
		key := statusWord(text)
		word = cmp.Or(b.source.Statuses[key], knownSources().Statuses[b.Kind][key], strings.ToUpper(key))
	}
	n := values[word]
	if n == 0 {
		names := slices.DeleteFunc(slices.Sorted(maps.Keys(values)), func(name string) bool { return values[name] == 0 })
		b.entry.refuse(target, "must be one of "+strings.Join(names, ", "))
	}
	return n
}

// phone reads national numbers in the country of the row, --country or the store. A text that is no phone is left out if an
// e-mail identifies the customer; otherwise it is refused and returned.
func (b *builder) phone() *string {
	text := b.optional("phone")
	if text == nil {
		return nil
	}
	named, country := b.value("country"), cmp.Or(b.Country, b.loader.Store.GetCountry())
	address, _, _ := strings.Cut(b.columnOf("phone"), " ") // such as Shipping, whose country may be another one than Billing Country
	for _, i := range b.record.table.columnsOf("country") {
		if strings.HasPrefix(b.record.table.header[i], address+" ") {
			named = cmp.Or(b.cell(0, i), named)
		}
	}
	if named != "" {
		country, _ = validate.Country(named)
	}
	number, ok := validate.Phone(*text, country)
	if ok && !roundedNumber.MatchString(*text) {
		return &number
	}
	problem := "must be a number in international form such as +237670000001, or a valid one of " + country
	switch {
	case roundedNumber.MatchString(*text):
		problem = rounded
	case country == "":
		problem = fmt.Sprintf("must be a number in international form, because the country %q is not known", named)
	}
	field := "phone"
	if b.Kind == transfer.Orders {
		field = "customer.phone"
	}
	if _, ok := validate.Email(b.value("email")); ok {
		b.entry.lost = append(b.entry.lost, b.entry.note(field, "is left out: it "+problem, nil))
		return nil
	}
	b.entry.refuse(field, problem)
	return text // not nil: a missing phone would be a second problem of the row
}

func (b *builder) flag(field string) bool {
	text := b.value(field)
	if text != "" && !isYes(text) && !isNo(text) {
		b.entry.refuse(field, "must be yes or no")
	}
	return isYes(text)
}

func (b *builder) currency() string {
	return cmp.Or(strings.ToUpper(b.value("currency")), b.source.Currency)
}

// tag matches an HTML tag, but not < and > in "ages <5 and >3". blocks matches tags between two lines.
var (
	tag    = regexp.MustCompile(`</?[A-Za-z!][^>]*>`)
	blocks = regexp.MustCompile(`(?i)(?:</?(?:br|p|div|li|[uo]l|tr|h[1-6])\b[^>]*>\s*)+`)
)

func (b *builder) priceOf() (price int64, given bool) {
	if b.value("salePrice") != "" {
		now := time.Now()
		starts, ends := b.date("saleStarts"), b.date("saleEnds")
		if ends != nil && ends.dateOnly { // an end without a time of day means the end of that day
			ends.at = ends.at.AddDate(0, 0, 1)
		}
		if (starts == nil || !starts.at.After(now)) && (ends == nil || ends.at.After(now)) {
			return b.amount(0, "salePrice", "salePrice", "")
		}
	}
	price, given = b.amount(0, "priceAmount", "price", "priceAmount")
	if n := b.count(0, "itemQuantity", "priceAmount"); n > 1 { // a sale on Gumroad has the price of its whole quantity
		if price%n != 0 {
			b.note(0, "price", "is no multiple of the quantity: the price of one is stored rounded down")
		}
		price /= n
	}
	return price, given
}

// addVariation enters the lowest price of variations that can be bought, under the id or SKU of their product.
func (b *builder) addVariation(lowest map[string]int64) {
	b.refuseRounded()
	price, given := b.priceOf()
	status := b.word(0, "status", "status", storefrontv1.Product_Status_value)
	parent := b.value("parent") // the product's SKU or, if it has none, a text such as id:7
	before, ok := lowest[parent]
	forSale := status == 0 || status == int32(storefrontv1.Product_PUBLISHED)
	if parent != "" && given && forSale && (!ok || price < before) {
		lowest[parent] = price
	}
}

// lowestPrice finds the variations of the record's product by its id or SKU.
func (b *builder) lowestPrice(lowest map[string]int64) (price int64, ok bool) {
	for _, parent := range []string{"id:" + b.value("id"), b.value("sku")} {
		if price, ok = lowest[parent]; ok {
			return price, true
		}
	}
	return 0, false
}

func (b *builder) product() *storefrontv1.Product {
	m := &storefrontv1.Product{
		Id: cmp.Or(b.value("id"), b.value("sku")), Title: b.value("title"), Slug: b.slug(), Currency: b.currency(),
		Url: b.value("url"), CoverUrl: b.optional("coverUrl"), Summary: b.value("summary"), Description: b.value("description"),
		Type:        storefrontv1.Product_Type(b.word(0, "type", "type", storefrontv1.Product_Type_value)),
		Status:      storefrontv1.Product_Status(b.word(0, "status", "status", storefrontv1.Product_Status_value)),
		PublishedAt: b.timestamp("publishedAt"), CreatedAt: b.timestamp("createdAt"), UpdatedAt: b.timestamp("updatedAt"),
	}
	// In WooCommerce's export a line break is \n, and coverUrl has all images. A shop's summary may be HTML.
	if b.source.shop {
		text := blocks.ReplaceAllStringFunc(strings.ReplaceAll(m.GetSummary(), `\n`, "\n"), func(run string) string {
			return cmp.Or(tag.ReplaceAllString(run, ""), "\n")
		})
		m.Summary = html.UnescapeString(strings.TrimSpace(tag.ReplaceAllString(text, "")))
		m.Description = strings.ReplaceAll(m.GetDescription(), `\n`, "\n")
		if m.CoverUrl != nil {
			*m.CoverUrl, _, _ = strings.Cut(*m.CoverUrl, ", ")
		}
	}
	if b.priced {
		m.PriceAmount = b.price
	} else if price, given := b.priceOf(); given {
		m.PriceAmount = price
	} else if b.Update {
		b.entry.unpriced = true
	} else {
		b.entry.refuse("priceAmount", "is required")
	}
	if b.value("published") != "" {
		switch published := b.flag("published"); {
		case published && m.GetStatus() == 0:
			m.Status = storefrontv1.Product_PUBLISHED // exports of Shopify had no status before 2020
		case !published && (m.GetStatus() == 0 || m.GetStatus() == storefrontv1.Product_PUBLISHED):
			m.Status = storefrontv1.Product_DRAFT // such as an active product on Shopify that no sales channel shows
		}
	}
	// Shops export such a reference price, but do not show it.
	if before, given := b.amount(0, "compareAtAmount", "compareAt", "compareAtAmount"); given && (!b.source.shop ||
		shop.CheckCompareAt(m.GetPriceAmount(), &before) == nil) {
		m.CompareAtAmount = &before
	}
	for _, i := range slices.Concat(b.record.table.columnsOf("compareAt"), b.record.table.columnsOf("compareAtAmount")) {
		b.entry.clearsCompareAt = b.entry.clearsCompareAt || b.lines[0].given == nil || b.lines[0].given[i]
	}
	return m
}

// slug returns "" with a remark for letters beyond ASCII, so that the importer makes a slug.
func (b *builder) slug() string {
	slug := b.value("slug")
	if strings.IndexFunc(slug, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return slug
	}
	b.note(0, "slug", "has letters that an address cannot show: a new product gets a slug of its own")
	return ""
}

// fullName puts the first name before the last. The field name may have only one if the file has a column for the other (Nom,
// Prénom).
func (b *builder) fullName() string {
	name, given, family := b.value("name"), b.value("firstName"), b.value("lastName")
	full := strings.TrimSpace(given + " " + family)
	switch {
	case strings.Contains(full, name):
		return full
	case name != "" && family == "" && !strings.Contains(name, given):
		return given + " " + name
	case name != "" && given == "" && !strings.Contains(name, family):
		return name + " " + family
	}
	if !strings.Contains(name, given) || !strings.Contains(name, family) {
		b.note(0, "name", "is stored as the name; the first and last name beside it are left out")
	}
	return name
}

// customerID reads 0, a shop's id of each guest, as no id. A column Customer may have names.
func (b *builder) customerID(field string) string {
	id, column := b.valueOn(0, field)
	if strings.Trim(id, "0") == "" {
		return ""
	}
	if field == "customer" && strings.Contains(id, " ") && !strings.ContainsAny(id, "0123456789") {
		b.note(0, field, "is read as the customer's id, not as the name; --map "+mapping(column, "name")+" reads it as the name")
	}
	return id
}

func (b *builder) customer() *storefrontv1.Customer {
	m := &storefrontv1.Customer{
		Id: b.customerID("id"), Name: b.fullName(), Email: b.optional("email"), Phone: b.phone(), Currency: b.currency(),
		OrdersCount: int32(b.count(0, "ordersCount", "ordersCount")), //nolint:gosec // count returns only values of int32.
		CreatedAt:   b.timestamp("createdAt"),
	}
	m.TotalPaid, _ = b.amount(0, "totalPaid", "total", "totalPaid")
	return m
}

func (b *builder) order() *storefrontv1.Order {
	m := &storefrontv1.Order{
		Id: b.value("id"), Reference: b.value("reference"), Currency: b.currency(), Note: b.optional("note"),
		Status: storefrontv1.Order_Status(b.word(0, "status", "status", storefrontv1.Order_Status_value)),
		PaidAt: b.timestamp("paidAt"), CreatedAt: b.timestamp("createdAt"),
		Customer: &storefrontv1.Order_Customer{Id: b.customerID("customer"), Name: b.fullName(), Email: b.optional("email"),
			Phone: b.phone()},
	}
	if !b.Update && customerKey(m.Customer.Id, m.Customer.GetEmail(), b.value("phone")) == "" {
		b.entry.refuse("customer.email", "is required, or a phone: an order without a buyer, such as one at a till, cannot be kept")
	}
	cancelled := strings.Trim(b.value("cancelledAt"), zeros) != ""
	switch {
	case b.flag("refunded"):
		m.Status = storefrontv1.Order_REFUNDED
	case b.flag("disputed") && !b.flag("disputeWon"):
		m.Status = storefrontv1.Order_REFUNDED
		b.note(0, "disputed", "is a dispute that the seller has not won: the order is stored as REFUNDED")
	case b.flag("preorder"), b.flag("freeTrial"):
		m.Status = storefrontv1.Order_PENDING
		field := "preorder"
		if !b.flag(field) {
			field = "freeTrial"
		}
		b.note(0, field, "was not charged: the order is stored as PENDING")
	case b.source.Columns["status"] == nil:
		m.Status = storefrontv1.Order_PAID // an export without statuses lists only sales
	case cancelled && m.GetStatus() == storefrontv1.Order_PENDING:
		m.Status = storefrontv1.Order_CANCELLED
	}
	if b.source.shop && m.PaidAt != nil && m.GetStatus() != storefrontv1.Order_PAID && m.GetStatus() != storefrontv1.Order_REFUNDED {
		b.note(0, "paidAt", "is left out: the order is stored as "+m.GetStatus().String())
		m.PaidAt = nil // of an unpaid order a shop may export another date, such as of an authorization
	}
	if cancelled && m.GetStatus() != storefrontv1.Order_CANCELLED {
		b.note(0, "cancelledAt", "is left out: the order is stored as "+m.GetStatus().String())
	}
	if text := b.value("platformFeePercent"); text != "" {
		percent, err := strconv.ParseFloat(text, 64)
		if err != nil {
			b.entry.refuse("platformFeePercent", "must be a percentage from 0 to 100")
		}
		m.PlatformFeePercent = percent
	}
	if id := b.value("paymentLink"); id != "" {
		m.PaymentLink = &storefrontv1.Order_PaymentLink{Id: id}
	}
	b.items(m)
	sum := new(big.Int)
	for i := range b.lines {
		if b.hasItem(i) {
			item, total := b.item(i, len(m.GetItems()))
			m.Items = append(m.Items, item)
			sum.Add(sum, total)
		}
	}
	var given bool
	m.Amount, given = b.amount(0, "amount", "total", "amount")
	b.priceItems(m, given)
	if b.Update && (!given && len(m.GetItems()) == 0 || b.entry.lacksPrice ||
		customerKey(m.Customer.Id, m.Customer.GetEmail(), b.value("phone")) == "") {
		m.Customer, given = nil, true // the importer creates no order without a customer, but updates a stored order
	}
	if !given {
		m.Amount = sum.Int64()
		switch {
		case len(m.GetItems()) == 0 || b.value("items") != "":
			b.entry.refuse("amount", "is required")
		case !sum.IsInt64() || m.Amount > validate.MaxAmount:
			b.entry.refuse("amount", "is required: the sum of the items is no amount")
		}
	}
	lost := knownSources().Partly[statusWord(b.value("status"))]
	if refund := b.value("refund"); lost == "" && strings.Trim(refund, "0.,") != "" {
		n, err := validate.ParseAmount(refund, cmp.Or(b.currency(), b.loader.Store.GetCurrency()))
		part := err != nil || n != m.GetAmount()
		if m.GetStatus() == storefrontv1.Order_PAID || m.GetStatus() == storefrontv1.Order_REFUNDED && part {
			b.note(0, "refund", "is left out: the order is stored as "+m.GetStatus().String()+" with the full total")
		}
	}
	if lost != "" {
		value := b.value("refund")
		if m.GetStatus() == storefrontv1.Order_PENDING {
			value = b.paid(m.GetAmount())
		}
		b.entry.lost = append(b.entry.lost, LineError{Line: b.lines[0].number, Column: b.columnOf("status"), Problem: lost, Value: value})
	}
	return m
}

// paid returns, for people, how much of the amount was paid, or "" if the export has no outstanding amount.
func (b *builder) paid(amount int64) string {
	currency := cmp.Or(b.currency(), b.loader.Store.GetCurrency())
	outstanding, err := validate.ParseAmount(b.value("outstanding"), currency)
	if err != nil {
		return ""
	}
	return validate.FormatAmount(amount-outstanding, currency)
}

// items reads a JSON list, as in an order of the API or in `order list -o csv`.
func (b *builder) items(m *storefrontv1.Order) {
	text := b.value("items")
	var items []json.RawMessage
	if text != "" && json.Unmarshal([]byte(text), &items) != nil {
		b.entry.refuse("items", "must be a list as order list -o csv writes it")
	}
	for i, text := range items {
		m.Items = append(m.Items, &storefrontv1.Order_Item{})
		var members struct{ UnitAmount *json.RawMessage }
		if json.Unmarshal(text, &members) == nil && members.UnitAmount == nil {
			b.entry.unpricedItems = append(b.entry.unpricedItems, i)
		}
		if invalid, ok := errors.AsType[*apijson.Invalid](apijson.Unmarshal(text, m.GetItems()[i])); ok {
			if len(invalid.Fields) == 0 {
				b.entry.refuse("items", invalid.Message)
			}
			for _, f := range invalid.Fields {
				b.entry.refuse(fmt.Sprintf("items[%d].%s", i, f.Name), f.Message)
			}
		}
		if slices.Contains(b.source.ignored, "id") { // the user has set --map id=, which ignores the file's ids
			m.Items[i].Id = ""
		}
	}
}

// item returns the order's item n, which may lack a title until its product is found, and the price of its whole quantity.
func (b *builder) item(line, n int) (item *storefrontv1.Order_Item, cost *big.Int) {
	field := func(name string) string { return fmt.Sprintf("items[%d].%s", n, name) }
	item = &storefrontv1.Order_Item{
		Quantity: 1, Type: storefrontv1.Product_Type(b.word(line, "itemType", field("type"), storefrontv1.Product_Type_value)),
	}
	item.Title, _ = b.valueOn(line, "itemTitle")
	item.ProductId, _ = b.valueOn(line, "itemProduct")
	b.entry.skus = slices.Grow(b.entry.skus, n+1)[:n+1]
	b.entry.skus[n], _ = b.valueOn(line, "itemSku")
	if text, _ := b.valueOn(line, "itemQuantity"); text != "" {
		item.Quantity = int32(b.count(line, "itemQuantity", field("quantity"))) //nolint:gosec // count returns only values of int32.
	}
	var given bool
	if item.UnitAmount, given = b.amount(line, field("unitAmount"), "itemPrice", ""); !given {
		var total int64
		if total, given = b.amount(line, field("unitAmount"), "itemTotal", ""); given {
			b.priceFromTotal(item, n, total)
			return item, big.NewInt(total)
		}
		b.entry.unpricedItems = append(b.entry.unpricedItems, n)
	}
	cost = big.NewInt(int64(item.GetQuantity()))
	cost.Mul(cost, big.NewInt(item.GetUnitAmount()))
	text, _ := b.valueOn(line, "itemTotal")
	total, err := validate.ParseAmount(text, cmp.Or(b.currency(), b.loader.Store.GetCurrency()))
	if given && text != "" && (err != nil || cost.Cmp(big.NewInt(total)) != 0) {
		b.note(line, "itemTotal", "is left out: it is another amount than the price times the quantity, which are stored")
	}
	return item, cost
}

// priceFromTotal divides the price of item n's whole quantity. It rounds down, and reports a total that is no multiple.
func (b *builder) priceFromTotal(item *storefrontv1.Order_Item, n int, total int64) {
	quantity := int64(item.GetQuantity())
	if quantity < 1 {
		return
	}
	if item.UnitAmount = total / quantity; total%quantity == 0 {
		return
	}
	b.entry.lost = append(b.entry.lost, b.entry.note(fmt.Sprintf("items[%d].unitAmount", n),
		"is no multiple of the quantity: the price of one is stored rounded down, the order's total as it is", nil))
}

// priceItems divides the order's amount by the quantity of its only item. Otherwise an item without a price makes it refuse the
// row or, if Update is set, set lacksPrice.
func (b *builder) priceItems(m *storefrontv1.Order, given bool) {
	for _, n := range b.entry.unpricedItems {
		switch {
		case given && len(m.GetItems()) == 1:
			b.priceFromTotal(m.Items[n], n, m.GetAmount())
		case b.Update:
			b.entry.lacksPrice = true
		default:
			b.entry.refuse(fmt.Sprintf("items[%d].unitAmount", n), "is required: the item has no price, and it can only be the order's total "+
				"if the order has one item and a total")
		}
	}
}
