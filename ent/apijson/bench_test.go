package apijson

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// plainOrder is an order for encoding/json, whose speed the benchmark compares with this package's.
type plainOrder struct {
	ID                 string            `json:"id"`
	Reference          string            `json:"reference"`
	Status             string            `json:"status"`
	Amount             int64             `json:"amount"`
	Currency           string            `json:"currency"`
	PlatformFeePercent float64           `json:"platformFeePercent"`
	Customer           plainCustomer     `json:"customer"`
	Items              []plainItem       `json:"items"`
	PaymentLink        *plainPaymentLink `json:"paymentLink"`
	Note               *string           `json:"note"`
	PaidAt             *time.Time        `json:"paidAt"`
	CreatedAt          time.Time         `json:"createdAt"`
}

type plainCustomer struct {
	ID    string  `json:"id"`
	Name  string  `json:"name"`
	Email *string `json:"email"`
	Phone *string `json:"phone"`
}

type plainItem struct {
	ID         string `json:"id"`
	ProductID  string `json:"productId"`
	Type       string `json:"type"`
	Title      string `json:"title"`
	UnitAmount int64  `json:"unitAmount"`
	Quantity   int32  `json:"quantity"`
}

type plainPaymentLink struct {
	ID    string `json:"id"`
	Code  string `json:"code"`
	Title string `json:"title"`
}

type plainPage struct {
	Page     int64        `json:"page"`
	PageSize int32        `json:"pageSize"`
	Total    int64        `json:"total"`
	Data     []plainOrder `json:"data"`
}

func plainOf(page *storefrontv1.ListOrdersResponse) plainPage {
	p := plainPage{Page: page.GetPage(), PageSize: page.GetPageSize(), Total: page.GetTotal()}
	for _, o := range page.GetData() {
		c, l := o.GetCustomer(), o.GetPaymentLink()
		plain := plainOrder{
			ID: o.GetId(), Reference: o.GetReference(), Status: o.GetStatus().String(), Amount: o.GetAmount(), Currency: o.GetCurrency(),
			PlatformFeePercent: o.GetPlatformFeePercent(), Customer: plainCustomer{c.GetId(), c.GetName(), c.Email, c.Phone},
			PaymentLink: &plainPaymentLink{l.GetId(), l.GetCode(), l.GetTitle()},
			Note:        o.Note, PaidAt: new(o.GetPaidAt().AsTime()), CreatedAt: o.GetCreatedAt().AsTime(),
		}
		for _, i := range o.GetItems() {
			plain.Items = append(plain.Items, plainItem{i.GetId(), i.GetProductId(), i.GetType().String(), i.GetTitle(), i.GetUnitAmount(),
				i.GetQuantity()})
		}
		p.Data = append(p.Data, plain)
	}
	return p
}

func BenchmarkOrderAppend(b *testing.B) {
	for _, n := range []int{1, 25, 100} {
		page := pageOf(n)
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			var out []byte
			for b.Loop() {
				out = Append(out[:0], page)
			}
			b.SetBytes(int64(len(out)))
		})
		plain := plainOf(page)
		b.Run("encoding_json/"+strconv.Itoa(n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				out, err := json.Marshal(plain)
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(out)))
			}
		})
	}
}

// BenchmarkCustomerUnmarshal decodes a small body, because most bodies are small.
func BenchmarkCustomerUnmarshal(b *testing.B) {
	data := []byte(`{"name": "Awa Ngo", "email": "awa@example.com", "phone": null}`)
	b.ReportAllocs()
	for b.Loop() {
		if err := Unmarshal(data, &storefrontv1.UpdateCustomerRequest{}, "id", "updateMask"); err != nil {
			b.Fatal(err)
		}
	}
}
