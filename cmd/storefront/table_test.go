package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

const tableID = "01936d2e-7a10-7c5e-9d0f-3a2b1c4d5e6f"

func TestTablesFitTheTerminal(t *testing.T) {
	t.Parallel()
	header := strings.Split("ID,TITLE~,STATUS,LAST~?,CREATED?", ",")
	rows := [][]string{
		{tableID, "Le guide complet du marché de Douala", "PUBLISHED", "status 500", "2026-11-22T06:25:32.000Z"},
		{strings.Replace(tableID, "0", "1", 1), "日本語の本", "DRAFT", "-", "2026-11-22T06:25:32.000Z"},
	}
	for _, row := range []struct {
		columns int
		want    []string
		because string
	}{
		{0, []string{"ID TITLE STATUS LAST CREATED", "Le guide complet du marché de Douala"}, "a pipe has no bound"},
		{300, []string{"ID TITLE STATUS LAST CREATED", "Le guide complet du marché de Douala"}, "there is room"},
		{110, []string{"ID TITLE STATUS LAST CREATED", "Le guide complet du ma…"}, "a text is shortened before a column goes"},
		{82, []string{"ID TITLE STATUS LAST", "Le guide complet du …"}, "the rightmost column goes first"},
		{70, []string{"ID TITLE STATUS", "Le guide complet du …"}, "then the next"},
		{10, []string{"ID TITLE STATUS", tableID}, "an id is whole whatever the width"},
	} {
		var out bytes.Buffer
		s := &session{out: &out}
		require.NoError(t, s.writeTable(fit(header, rows, row.columns), rows))
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		require.Equal(t, row.want[0], strings.Join(strings.Fields(lines[0]), " "), row.because)
		require.Contains(t, lines[1], row.want[1], row.because)
		require.Contains(t, lines[1], tableID)
		require.NotContains(t, out.String(), "\x1b")
		for _, line := range lines {
			if row.columns > 50 {
				require.LessOrEqual(t, columnsOf(line), row.columns, "%s: %s", row.because, line)
			}
		}
		// Columns are aligned, wide letters included.
		require.Equal(t, columnsOf(textBefore(lines[1], "PUBLISHED")), columnsOf(textBefore(lines[2], "DRAFT")), row.because)
	}
}

// On a terminal of 80 columns the lists fit, with names as long as they usually are.
func TestListsFitEightyColumns(t *testing.T) {
	t.Parallel()
	const title = "Guide du marché : vendre sans boutique"
	requireFits(t, linkTable, &storefrontv1.PaymentLink{
		Id: tableID, Code: "gd7248t5fj", Title: title, Availability: storefrontv1.PaymentLink_EXHAUSTED, Amount: proto.Int64(250000), Currency: "XAF",
	})
	requireFits(t, productTable, &storefrontv1.Product{
		Id: tableID, Title: title, Status: storefrontv1.Product_PUBLISHED, PriceAmount: 1250000, Currency: "XAF",
	})
	requireFits(t, storeTable, &storefrontv1.Store{
		Id: tableID, Slug: "atelier-du-marche-de-douala", Name: title, Status: storefrontv1.Store_suspended, Currency: "XAF", Country: "CM",
	})
	requireFits(t, orderTable, &storefrontv1.Order{
		Id: tableID, Reference: "ORD-KDYTBZCQMT", Status: storefrontv1.Order_CANCELLED, Amount: 1250000, Currency: "XAF",
	})
	requireFits(t, customerTable, &storefrontv1.Customer{Id: tableID, Name: title, Email: proto.String("awa.ngo.de.douala@example.com")})
	requireFits(t, webhookTable, &adminv1.Webhook{Id: tableID, Url: "https://shop.example.com/webhooks/storefront", DisabledAutomatically: true})
	requireFits(t, deliveryTable, &adminv1.Delivery{Id: tableID, EventType: "payment_link.paid", Status: adminv1.Delivery_succeeded})
	requireFits(t, keyTable, &adminv1.Key{Id: tableID, Name: title, Status: adminv1.Key_revoked})
}

func requireFits[Item proto.Message](t *testing.T, of table[Item], item Item) {
	t.Helper()
	header, rows := strings.Split(of.header, ","), [][]string{of.row(item)}
	require.LessOrEqual(t, total(fit(header, rows, 80), false), 80, of.header)
}

func textBefore(line, word string) string {
	text, _, _ := strings.Cut(line, word)
	return text
}

func TestColoursAreForTerminals(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	s := &session{out: &out, terminal: terminal{colours: true}}
	rows := [][]string{{"x", "PAID"}}
	require.NoError(t, s.writeTable(fit([]string{"ID", "STATUS"}, rows, 0), rows))
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
