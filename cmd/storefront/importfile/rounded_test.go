package importfile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
)

func TestRoundedIdsAreRefused(t *testing.T) {
	t.Parallel()
	const problem = "is a number that a spreadsheet has rounded, so that its last digits are lost"
	spellings := []string{"1.23457E+12", "1,23457E+12", "1E+12", "9.2e+14", "'1.23457E+12", "-1.5E+20", "1٫23457E+12"}
	for _, row := range []struct {
		o      options
		header string
		line   string // the imported line, in which %s stands for the rounded id
		column string
	}{
		{options{Kind: products}, "id;title;price", "%s;A;5", "id"},
		{options{Kind: products}, "sku;title;price", "%s;A;5", "sku"},
		{options{Kind: products}, "id;sku;title;price", "1;%s;A;5", "sku"},
		{options{Kind: products}, "slug;title;price", "%s;A;5", "slug"},
		{options{Kind: products, Update: true}, "Product ID;Status", "%s;DRAFT", "Product ID"},
		{options{Kind: products, From: "shopify"}, "Handle;Title;Variant Price", "%s;A;5", "Handle"},
		{options{Kind: products, From: "woocommerce"}, "ID;Type;Name;Regular price", "%s;simple;A;5", "ID"},
		{options{Kind: products, From: "woocommerce"}, "ID;Type;SKU;Name;Regular price;Parent", "7;variation;;A;5;%s", "Parent"},
		{options{Kind: customers}, "id;email", "%s;a@example.com", "id"},
		{options{Kind: customers}, "Customer ID;email", "%s;a@example.com", "Customer ID"},
		{options{Kind: customers}, "phone;name", "%s;A", "phone"},
		{options{Kind: customers, From: "stripe"}, "id;Email", "%s;a@example.com", "id"},
		{options{Kind: orders}, "id;status;email;total", "%s;PAID;a@example.com;5", "id"},
		{options{Kind: orders}, "Référence;status;email;total", "%s;PAID;a@example.com;5", "Référence"},
		{options{Kind: orders}, "reference;status;customer;email;total", "R;PAID;%s;a@example.com;5", "customer"},
		{options{Kind: orders}, "reference;status;phone;total", "R;PAID;%s;5", "phone"},
		{options{Kind: orders}, "reference;status;email;total;paymentLink", "R;PAID;a@example.com;5;%s", "paymentLink"},
		{options{Kind: orders}, "reference;status;email;total;itemTitle;itemSku", "R;PAID;a@example.com;5;A;%s", "itemSku"},
		{options{Kind: orders}, "reference;status;email;total;itemTitle;itemProduct", "R;PAID;a@example.com;5;A;%s", "itemProduct"},
		{options{Kind: orders, From: "shopify"}, "Name;Email;Financial Status;Total;Lineitem name;Lineitem sku",
			"#1;a@example.com;paid;5;A;x\n#1;;;;B;%s", "Lineitem sku"},
	} {
		s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
		for _, spelling := range spellings {
			line := fmt.Sprintf(row.line, spelling)
			_, err := s.try(row.o, []byte(row.header+"\n"+line+"\n"))
			require.ErrorContains(t, err, row.column+" "+problem, "%s %s", row.header, line)
			require.ErrorContains(t, err, fmt.Sprintf(`("%s"): line %d`, spelling, 2+strings.Count(line, "\n")))
		}
	}
	// Codes with an E, and numbers with all their digits, are valid ids.
	s := newStore(t, dbtest.New(t, dbtest.SQLite, db.Config{}))
	done := s.load(options{Kind: products}, []byte("sku,title,price\n12E5,A,1\n1E+,B,1\nE+12,C,1\n1234567890123,D,1\n1.5,E,1\n"))
	require.Equal(t, 5, done.Stored)
}
