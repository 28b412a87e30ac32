package main

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/google/uuid"

	"go.storefront.example/ent/resource"
	"go.storefront.example/server/auth"
)

// shape is the size of a data set. keys is per store; the other numbers are over all stores.
type shape struct {
	stores, keys, products, orders, customers int
	// firstCustomers is how many customers the first store has; 0 means an equal share.
	firstCustomers int
	// pending is true if no order is paid.
	pending bool
}

// dataset is a service's data after some months, with the ids that requests need.
type dataset struct {
	tables []*table
	stores []storeData
}

// storeData has what requests to a store need.
type storeData struct {
	id     uuid.UUID
	slug   string
	keys   []string
	orders []uuid.UUID
	// keyIDs[i] is the id of keys[i].
	keyIDs []uuid.UUID
	// The ids of one product, of all others, and of one customer.
	product  uuid.UUID
	products []uuid.UUID
	customer uuid.UUID
}

// key begins again with the first key after the last.
func (s *storeData) key(n int) string { return s.keys[n%len(s.keys)] }

type table struct {
	name    string
	columns []string
	rows    [][]any
}

func (t *table) add(values ...any) { t.rows = append(t.rows, values) }

// span is how long before now the oldest row was created.
const span = 90 * 24 * time.Hour

// generator gives the same data set for the same shape, except for keys and dates.
type generator struct {
	random  *rand.Rand
	now     time.Time
	data    *dataset
	pending bool

	stores, keys, products, customers, orders, items *table
}

func slugOf(n int) string { return fmt.Sprintf("store-%04d", n) }

func newDataset(s shape, now time.Time) *dataset {
	columns := func(name, list string) *table { return &table{name: name, columns: strings.Fields(list)} }
	g := &generator{
		random: rand.New(rand.NewPCG(1, 2)), //nolint:gosec // These numbers are no secret.
		now:    now.UTC().Truncate(time.Millisecond),
		data:   &dataset{}, pending: s.pending,
		stores: columns("stores", "id name slug url currency country social_links unavailable_types platform_fee_percent"+
			" created_at updated_at"),
		keys: columns("api_keys", "id store_id name fingerprint hint scopes created_at"),
		products: columns("products", "id store_id title title_folded slug type status summary description price_amount"+
			" url content_ready published_at created_at updated_at"),
		customers: columns("customers", "id store_id name email phone search orders_count total_paid created_at updated_at"),
		orders: columns("orders", "id store_id reference status amount platform_fee_percent customer_id note paid_at"+
			" created_at updated_at"),
		items: columns("order_items", "id store_id order_id position product_id type title unit_amount quantity"),
	}
	for n := range s.stores {
		customers := share(s.customers, s.stores, n)
		if n == 0 && s.firstCustomers > 0 {
			customers = s.firstCustomers
		}
		g.store(n, s.keys, share(s.products, s.stores, n), share(s.orders, s.stores, n), customers)
	}
	g.data.tables = []*table{g.stores, g.keys, g.products, g.customers, g.orders, g.items}
	return g.data
}

// share returns the part n of a total that is divided into almost equal whole parts.
func share(total, parts, n int) int { return total*(n+1)/parts - total*n/parts }

// id returns a UUIDv7 (RFC 9562, 5.7) for a time.
func (g *generator) id(at time.Time) uuid.UUID {
	var u uuid.UUID
	binary.BigEndian.PutUint64(u[0:], uint64(at.UnixMilli())<<16|g.random.Uint64()&0x0fff|0x7000) //nolint:gosec // After 1970.
	binary.BigEndian.PutUint64(u[8:], g.random.Uint64()>>2|1<<63)
	return u
}

// moment returns the nth of count times that are spread evenly over the span before now.
func (g *generator) moment(n, count int) time.Time {
	return g.now.Add(-span + span*time.Duration(n)/time.Duration(count)).Truncate(time.Millisecond)
}

type productData struct {
	id          uuid.UUID
	kind, title string
	price       int64
}

type customerData struct {
	id                 uuid.UUID
	name, email, phone string
	createdAt          time.Time
	orders             int
	paid               int64
}

func (g *generator) store(n, keys, products, orders, customers int) {
	opened := g.now.Add(-span - 24*time.Hour)
	s := storeData{id: g.id(opened), slug: slugOf(n)}
	g.stores.add(s.id, fmt.Sprintf("Store %d", n), s.slug, "https://shops.example.com/"+s.slug, "XAF", "CM", "{}", "[]", 5.0,
		opened, opened)
	for k := range keys {
		key := auth.NewKey(s.id)
		fingerprint := sha256.Sum256([]byte(key))
		id := g.id(opened)
		g.keys.add(id, s.id, fmt.Sprintf("Integration %d", k), fingerprint[:], auth.Hint(key),
			`["store:read","orders:read","customers:write","products:write","payment_links:write"]`, opened)
		s.keys, s.keyIDs = append(s.keys, key), append(s.keyIDs, id)
	}
	catalogue := g.catalogue(&s, products)
	buyers := g.buyers(customers)
	s.product, s.customer = catalogue[0].id, buyers[0].id
	g.sales(&s, catalogue, buyers, orders)
	for _, c := range buyers {
		g.customers.add(c.id, s.id, c.name, c.email, c.phone, resource.CustomerSearch(c.name, &c.email, &c.phone),
			c.orders, c.paid, c.createdAt, c.createdAt)
	}
	g.data.stores = append(g.data.stores, s)
}

var productTypes = []string{"FILE", "COURSE", "LICENSE", "MEETING", "EVENT"}

func (g *generator) catalogue(s *storeData, count int) []productData {
	list := make([]productData, count)
	for i := range list {
		at := g.moment(i, count)
		p := productData{
			id: g.id(at), kind: productTypes[i%len(productTypes)], price: int64(500 * (1 + g.random.IntN(60))),
			title: fmt.Sprintf("Guide complet n° %d, édition %d", i, 2020+i%7),
		}
		slug := fmt.Sprintf("guide-%d", i)
		g.products.add(p.id, s.id, p.title, resource.FoldCase(p.title), slug, p.kind, "PUBLISHED", "A short summary of what is sold.",
			strings.Repeat("<p>What the buyer gets, told at some length.</p>", 10), p.price,
			"https://shops.example.com/"+s.slug+"/"+slug, true, at, at, at)
		list[i] = p
		if i > 0 {
			s.products = append(s.products, p.id)
		}
	}
	return list
}

// Surnames are two of the ten syllables. A search for the four letters of two finds the buyers with one surname.
var (
	firstNames = []string{"Ada", "Boris", "Chantal", "Denis", "Estelle", "Firmin", "Grace", "Hervé", "Irène", "Joël"}
	syllables  = []string{"ba", "ko", "mu", "ne", "ti", "wo", "ze", "fu", "la", "gi"}
)

func surname(n int) string {
	n %= len(syllables) * len(syllables)
	return syllables[n/len(syllables)] + syllables[n%len(syllables)]
}

func (g *generator) buyers(count int) []*customerData {
	list := make([]*customerData, count)
	for i := range list {
		at := g.moment(i, count)
		last := surname(i)
		list[i] = &customerData{
			id: g.id(at), name: firstNames[g.random.IntN(len(firstNames))] + " " + strings.ToUpper(last[:1]) + last[1:] + "nd",
			email: fmt.Sprintf("buyer.%d@mail.example.com", i), phone: fmt.Sprintf("+23767%07d", i), createdAt: at,
		}
	}
	return list
}

// statuses are the statuses of ten consecutive orders.
var statuses = []string{"PAID", "PAID", "PAID", "PENDING", "PAID", "PAID", "FAILED", "PAID", "REFUNDED", "CANCELLED"}

func (g *generator) sales(s *storeData, catalogue []productData, buyers []*customerData, count int) {
	for i := range count {
		at := g.moment(i, count)
		id, status := g.id(at), statuses[i%len(statuses)]
		if g.pending {
			status = "PENDING"
		}
		buyer := buyers[g.random.IntN(len(buyers))]
		var amount int64
		for position := range 1 + i%3 {
			p, quantity := catalogue[g.random.IntN(len(catalogue))], 1+g.random.IntN(2)
			g.items.add(g.id(at), s.id, id, position, p.id, p.kind, p.title, p.price, quantity)
			amount += p.price * int64(quantity)
		}
		var paidAt, note any
		if status == "PAID" || status == "REFUNDED" {
			paidAt = at.Add(time.Minute)
		}
		if i%4 == 0 {
			note = "Livraison par e-mail, merci."
		}
		buyer.orders++
		if status == "PAID" {
			buyer.paid += amount
		}
		g.orders.add(id, s.id, fmt.Sprintf("ORD-%06d", i), status, amount, 5.0, buyer.id, note, paidAt, at, at)
		s.orders = append(s.orders, id)
	}
}
