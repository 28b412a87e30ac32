package importfile_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/db/dbtest"
)

// tables returns n rows of each kind, each order with a customer of its own.
func tables(n int) map[kind][]byte {
	var of [3]bytes.Buffer
	of[0].WriteString("id,title,price,description,status\n")
	of[1].WriteString("id,name,email,phone,createdAt\n")
	of[2].WriteString("reference,status,total,customer,email,createdAt,itemProduct,itemTitle,itemQuantity,itemPrice\n")
	for i := range n {
		_, _ = fmt.Fprintf(&of[0], "p%d,Product number %d,%d,<p>Text of %d</p>,PUBLISHED\n", i, i, i%900+1, i)
		_, _ = fmt.Fprintf(&of[1], "c%d,Buyer %d,buyer%d@example.com,+4915%09d,2025-01-%02d 10:00:00\n", i, i, i, i, i%28+1)
		_, _ = fmt.Fprintf(&of[2], "R-%d,PAID,2500,c%d,buyer%d@example.com,2025-02-%02d 10:00:00,p%d,Product number %d,2,1250\n", i, i,
			i, i%28+1, i, i)
	}
	return map[kind][]byte{products: of[0].Bytes(), customers: of[1].Bytes(), orders: of[2].Bytes()}
}

func BenchmarkFileLoad(b *testing.B) {
	const rows = 10_000
	all := tables(rows)
	for _, database := range dbtest.Databases() {
		for _, kind := range []kind{customers, products, orders} {
			b.Run(fmt.Sprintf("%s/%s/%d", database, kind, rows), func(b *testing.B) {
				b.ReportAllocs()
				for range b.N {
					b.StopTimer()
					s := newStore(b, dbtest.New(b, database, db.Config{}))
					if kind == orders {
						s.load(options{Kind: customers}, all[customers])
					}
					b.StartTimer()
					done := s.load(options{Kind: kind}, all[kind])
					require.Equal(b, rows, done.Stored)
				}
				b.ReportMetric(float64(rows*b.N)/b.Elapsed().Seconds(), "rows/s")
			})
		}
	}
}
