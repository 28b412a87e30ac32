package main

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	"go.storefront.example/cmd/storefront/importfile"
	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

const tableID = "01936d2e-7a10-7c5e-9d0f-3a1b2b4d5e6f"

func TestTablesFitTheTerminal(t *testing.T) {
	t.Parallel()
	cell := func(i int) func([]string) string { return func(row []string) string { return row[i] } }
	columns := []column[[]string]{
		{name: "ID", id: cell(0)},
		{name: "TITLE", value: cell(1), cut: true, room: 20},
		{name: "STATUS", value: cell(2)},
		{name: "LAST", value: cell(3), cut: true, optional: true},
		{name: "CREATED", at: func(row []string) *timestamppb.Timestamp {
			at, err := time.Parse(time.RFC3339, row[4])
			require.NoError(t, err)
			return timestamppb.New(at)
		}, optional: true},
	}
	for _, row := range []struct {
		columns int
		want    []string
		because string
	}{
		{0, []string{"ID TITLE STATUS LAST CREATED", tableID, "Le guide complet du marché de Douala"}, "a pipe has no bound"},
		{300, []string{"ID TITLE STATUS LAST CREATED", tableID, "Le guide complet du marché de Douala"}, "there is room"},
		{110, []string{"ID TITLE STATUS LAST CREATED UTC", "2b4d5e6f ",
			"Le guide complet du marché de Douala  PUBLISHED  status 500  2025-11-22 06:25"}, "ids and times are shortened first"},
		{80, []string{"ID TITLE STATUS LAST CREATED UTC", "2b4d5e6f ", "Le guide complet du marché d…"},
			"a text that keeps the room it needs is cut before a column goes"},
		{60, []string{"ID TITLE STATUS LAST", "2b4d5e6f ", "Le guide complet du marché…"}, "the rightmost column goes first"},
		{45, []string{"ID TITLE STATUS", "2b4d5e6f ", "Le guide complet du mar…"}, "then the next"},
		{10, []string{"ID TITLE STATUS", "2b4d5e6f ", "Le guide co…"}, "an id is whole whatever the width"},
	} {
		rows := [][]string{
			{tableID, "Le guide complet du marché de Douala", "PUBLISHED", "status 500", "2025-11-22T06:25:32.000Z"},
			{"01936d2e-7a10-7c60-9d0f-3a2b1c4d5e70", "日本語の本", "DRAFT", "-", "2025-11-22T06:25:32.000Z"},
		}
		var out bytes.Buffer
		s := &invocation{out: &out}
		var all []*shownColumn
		for _, c := range columns {
			all = append(all, c.render(rows))
		}
		require.NoError(t, s.writeTable(fit(all, row.columns)))
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		require.Equal(t, row.want[0], strings.Join(strings.Fields(lines[0]), " "), row.because)
		require.Contains(t, lines[1], row.want[1], row.because)
		require.Contains(t, lines[1], row.want[2], row.because)
		require.NotContains(t, out.String(), "\x1b")
		for _, line := range lines {
			if row.columns >= 45 {
				require.LessOrEqual(t, text.StringWidthWithoutEscSequences(line), row.columns, "%s: %s", row.because, line)
			}
		}
		// Columns are aligned even if cells have letters of double width.
		require.Equal(t, widthBefore(lines[1], "PUBLISHED"), widthBefore(lines[2], "DRAFT"), row.because)
	}
}

// A terminal of 80 columns shows the most important columns if names have usual lengths.
func TestListsFitTheirTerminal(t *testing.T) {
	t.Parallel()
	const title = "Guide du marché : vendre sans boutique"
	requireFits(t, 80, linkTable, &storefrontv1.PaymentLink{
		Id: tableID, Code: "gd7248t5fj", Title: title, Availability: storefrontv1.PaymentLink_EXHAUSTED, Amount: proto.Int64(250000),
		Currency: "XAF",
	}, "250,000 XAF")
	requireFits(t, 80, productTable, &storefrontv1.Product{
		Id: tableID, Slug: "guide-du-marche-vendre-sans-boutique", Title: title, Status: storefrontv1.Product_PUBLISHED,
		PriceAmount: 1250000, Currency: "NGN",
	}, "12,500.00 NGN")
	requireFits(t, 80, storeTable(nil), &storefrontv1.Store{
		Id: tableID, Slug: "atelier-du-marche-de-douala", Name: title, Status: storefrontv1.Store_suspended, Currency: "XAF",
		Country: "CM",
	}, "XAF")
	requireFits(t, 80, orderTable, &storefrontv1.Order{
		Id: tableID, Reference: "ORD-KDYTBZCQMT", Status: storefrontv1.Order_CANCELLED, Amount: 1250000, Currency: "KWD",
		CreatedAt: noon,
	}, "1,250.000 KWD", "2025-11-22 12:00")
	customer := &storefrontv1.Customer{
		Id: tableID, Name: title, Email: proto.String("awa.ngo.bassa.de.douala@example.com"), Phone: proto.String("+237670001000"),
	}
	requireFits(t, 80, customerTable, customer, "+237670001000", "awa.ngo.bassa.de.douala@example.com")
	requireFits(t, 120, customerTable, customer, "+237670001000", "awa.ngo.bassa.de.douala@example.com")
	requireFits(t, 80, webhookTable, &adminv1.Webhook{Id: tableID, Url: "https://shop.example.com/webhooks/storefront",
		State: adminv1.Webhook_failing, FailingSince: noon, DisablesAt: noon}, "https://shop.example.com/webhooks/sto", "FAILING")
	requireFits(t, 120, webhookTable, &adminv1.Webhook{Id: tableID, Url: "https://shop.example.com/webhooks/storefront",
		State: adminv1.Webhook_failing, FailingSince: noon, DisablesAt: noon}, "https://shop.example.com/webhooks/storefront",
		"FAILING",
		"2025-11-22 12:00  2025-11-22 12:00")
	now := timestamppb.Now()
	requireFits(t, 80, deliveryTable(map[string]string{"w": "shop.example.com/webhooks"}), &adminv1.Delivery{
		Id: tableID, EventType: "payment_link.paid", Status: adminv1.Delivery_pending, WebhookId: "w", CreatedAt: now,
		NextAttemptAt: now,
		LastError:     proto.String("status 503"), LastStatusCode: proto.Int32(503),
	}, shortTime(formatTime(now))+"  payment_link", " 503 ", "shop.exampl")
	requireFits(t, 80, keyTable, &adminv1.Key{
		Id: tableID, Name: title, Status: adminv1.Key_revoked, ExpiresAt: noon, Scopes: []string{"orders:read", "customers:write"},
	}, "2025-11-22 12:00", "orders:read")
	requireFits(t, 80, activityTable(new("EUR")), &adminv1.ActivityEntry{
		CreatedAt: noon, Actor: &adminv1.ActivityEntry_Actor{Name: title}, Action: "product.updated",
		Changes: `{"priceAmount":{"from":null,"to":2},"status":{"from":"DRAFT","to":"PUBLISHED"}}`,
	}, "2025-11-22 12:00", "priceAmount: - → 0.02 EUR; st")
}

var noon = timestamppb.New(time.Date(2025, 11, 22, 12, 0, 0, 0, time.UTC))

func requireFits[Item proto.Message](t *testing.T, columns int, of table[Item], item Item, shown ...string) {
	t.Helper()
	all := fit(of.render([]Item{item}), columns)
	require.LessOrEqual(t, widthOf(all, func(c *shownColumn) int { return c.width }), columns, all[0].name)
	var out bytes.Buffer
	require.NoError(t, (&invocation{out: &out}).writeTable(all))
	for _, text := range shown {
		require.Contains(t, out.String(), text)
	}
}

func widthBefore(line, word string) int {
	before, _, _ := strings.Cut(line, word)
	return text.StringWidthWithoutEscSequences(before)
}

func TestColoursAreForTerminals(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := &invocation{out: &out, terminal: terminal{colours: true}}
	rows := [][]string{{"x", "PAID"}}
	require.NoError(t, s.writeTable(plainColumns([]string{"ID", "STATUS"}, rows)))
	require.Equal(t, "\x1b[1mID\x1b[0m  \x1b[1mSTATUS\x1b[0m\nx   \x1b[32mPAID\x1b[0m\n", out.String())
	set := func(pairs ...string) func(string) (string, bool) {
		return func(name string) (string, bool) {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1], true
				}
			}
			return "", false
		}
	}
	require.Equal(t, terminal{}, terminalOf(&out, set()), "a buffer is no terminal")
	require.Equal(t, terminal{columns: 72}, terminalOf(&out, set("COLUMNS", "72")))
	require.Equal(t, terminal{}, terminalOf(&out, set("COLUMNS", "many")))
}

func TestProgressIsForTerminals(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	p := newProgress(&out, "orders", 100)
	p.show(importfile.Progress{Lines: 1, Bytes: 50})
	p.end()
	require.Empty(t, out.String())
}

func TestProgressDrawsWhatIsDone(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		reason string
		size   int64
		bytes  int64
		want   string
	}{
		{"half is half", 1000, 500, "checking orders [" + strings.Repeat("#", 20) + strings.Repeat(" ", 20) + "] 7 lines"},
		{"nothing is an empty bar", 1000, 0, "checking orders [" + strings.Repeat(" ", 40) + "] 7 lines"},
		{"a last line without its end counts one byte too many", 1000, 1001, "checking orders [" + strings.Repeat("#", 40) +
			"] 7 lines"},
		{"standard input has no size", -1, 500, "checking orders 7 lines"},
		{"an empty file is no division by zero", 0, 0, "checking orders 7 lines"},
	} {
		t.Run(row.reason, func(t *testing.T) {
			var out bytes.Buffer
			p := progress{&out, "orders", row.size}
			p.show(importfile.Progress{Lines: 7, Bytes: row.bytes})
			require.Equal(t, eraseLine+row.want, out.String())
			p.end()
			require.True(t, strings.HasSuffix(out.String(), eraseLine))
		})
	}
}
