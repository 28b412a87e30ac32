package yardstick

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/mail"
	"strconv"
	"strings"
	"time"

	"github.com/nyaruka/phonenumbers"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// database is what the two databases do differently.
type database interface {
	// admit looks a key up and counts the request; errUnknownKey when there is no such key.
	admit(ctx context.Context, fingerprint []byte, now time.Time) (*caller, error)
	// order returns errNotFound when the store has no such order.
	order(ctx context.Context, c *caller, id string) (*order, error)
	orders(ctx context.Context, c *caller, size int, offset int64) ([]*order, int64, error)
	// customers finds the pattern of a LIKE with \ as its escape.
	customers(ctx context.Context, c *caller, pattern string, size int, offset int64) ([]*customer, int64, error)
	// create reports whether the customer is a new one.
	create(ctx context.Context, c *caller, in *newCustomer) (*customer, bool, error)
	close() error
}

var (
	errUnknownKey = &refusal{http.StatusUnauthorized, "api_key_invalid", "The key does not exist."}
	errNotFound   = &refusal{http.StatusNotFound, "order_not_found", "The store has no such order."}
	errConflict   = &refusal{http.StatusConflict, "customer_conflict", "Another customer has this e-mail or phone."}
)

type order struct {
	ID                 string        `json:"id"`
	Reference          string        `json:"reference"`
	Status             string        `json:"status"`
	Amount             int64         `json:"amount"`
	Currency           string        `json:"currency"`
	PlatformFeePercent float64       `json:"platformFeePercent"`
	Customer           orderCustomer `json:"customer"`
	Items              []orderItem   `json:"items"`
	PaymentLink        *orderLink    `json:"paymentLink"`
	Note               *string       `json:"note"`
	PaidAt             *string       `json:"paidAt"`
	CreatedAt          string        `json:"createdAt"`
}

type orderCustomer struct {
	ID    string  `json:"id"`
	Name  string  `json:"name"`
	Email *string `json:"email"`
	Phone *string `json:"phone"`
}

type orderItem struct {
	ID         string `json:"id"`
	ProductID  string `json:"productId"`
	Type       string `json:"type"`
	Title      string `json:"title"`
	UnitAmount int64  `json:"unitAmount"`
	Quantity   int64  `json:"quantity"`
}

type orderLink struct {
	ID    string `json:"id"`
	Code  string `json:"code"`
	Title string `json:"title"`
}

type customer struct {
	ID          string  `json:"id"`
	Name        string  `json:"name"`
	Email       *string `json:"email"`
	Phone       *string `json:"phone"`
	OrdersCount int64   `json:"ordersCount"`
	TotalPaid   int64   `json:"totalPaid"`
	Currency    string  `json:"currency"`
	CreatedAt   string  `json:"createdAt"`
}

type page[T any] struct {
	Page     int64 `json:"page"`
	PageSize int   `json:"pageSize"`
	Total    int64 `json:"total"`
	Data     []T   `json:"data"`
}

// stamp is a date in the API's spelling.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func (s *Service) getOrder(ctx context.Context, c *caller, r *http.Request) (int, any, error) {
	o, err := s.db.order(ctx, c, r.PathValue("id"))
	return http.StatusOK, o, err
}

func (s *Service) listOrders(ctx context.Context, c *caller, r *http.Request) (int, any, error) {
	number, size, _, err := paging(r)
	if err != nil {
		return 0, nil, err
	}
	data, total, err := s.db.orders(ctx, c, size, (number-1)*int64(size))
	return http.StatusOK, page[*order]{number, size, total, data}, err
}

var escapes = strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`)

func (s *Service) listCustomers(ctx context.Context, c *caller, r *http.Request) (int, any, error) {
	number, size, q, err := paging(r)
	if err != nil {
		return 0, nil, err
	}
	data, total, err := s.db.customers(ctx, c, "%"+escapes.Replace(fold(q))+"%", size, (number-1)*int64(size))
	return http.StatusOK, page[*customer]{number, size, total, data}, err
}

func invalid(message string) error {
	return &refusal{http.StatusBadRequest, "validation_failed", message}
}

func paging(r *http.Request) (number int64, size int, q string, err error) {
	number, size = 1, 25
	for name, values := range r.URL.Query() {
		switch name {
		case "page":
			number, err = strconv.ParseInt(values[0], 10, 32)
		case "pageSize":
			size, err = strconv.Atoi(values[0])
		case "q":
			q = strings.TrimSpace(values[0])
		default:
			err = errors.New("unknown parameter")
		}
		if err != nil {
			return 0, 0, "", invalid(name + " cannot be used")
		}
	}
	if number < 1 || size < 1 || size > 100 || len(q) > 400 {
		return 0, 0, "", invalid("the page cannot be used")
	}
	return number, size, q, nil
}

// newCustomer is a customer to record.
type newCustomer struct {
	Name  string  `json:"name"`
	Email *string `json:"email"`
	Phone *string `json:"phone"`
}

// maxBodyBytes is the size of the largest body: 1 MiB.
const maxBodyBytes = 1 << 20

func (s *Service) createCustomer(ctx context.Context, c *caller, r *http.Request) (int, any, error) {
	if r.Header.Get("Content-Type") != "application/json" {
		return 0, nil, &refusal{http.StatusUnsupportedMediaType, "unsupported_media_type", "The body is not JSON."}
	}
	text, err := io.ReadAll(http.MaxBytesReader(nil, r.Body, maxBodyBytes))
	if err != nil {
		return 0, nil, err
	}
	var in newCustomer
	if err := json.Unmarshal(text, &in); err != nil {
		return 0, nil, invalid("the body cannot be used")
	}
	if err := in.check(c.Store.Country); err != nil {
		return 0, nil, err
	}
	made, created, err := s.db.create(ctx, c, &in)
	if created {
		return http.StatusCreated, made, err
	}
	return http.StatusOK, made, err
}

// check brings what identifies the customer into the form in which it is stored.
func (in *newCustomer) check(country string) error {
	in.Name = strings.TrimSpace(in.Name)
	if in.Email == nil && in.Phone == nil {
		return &refusal{http.StatusBadRequest, "customer_identifier_required", "An e-mail or a phone is needed."}
	}
	if in.Email != nil {
		address, err := mail.ParseAddress(strings.TrimSpace(*in.Email))
		if err != nil {
			return invalid("email cannot be used")
		}
		lower := strings.ToLower(address.Address)
		in.Email = &lower
	}
	if in.Phone != nil {
		number, err := phonenumbers.Parse(*in.Phone, country)
		if err != nil || !phonenumbers.IsPossibleNumber(number) {
			return &refusal{http.StatusBadRequest, "phone_invalid", "The phone cannot be used."}
		}
		e164 := phonenumbers.Format(number, phonenumbers.E164)
		in.Phone = &e164
	}
	return nil
}

func (in *newCustomer) search() string {
	text := fold(in.Name) + "\x1f"
	if in.Email != nil {
		text += fold(*in.Email)
	}
	text += "\x1f"
	if in.Phone != nil {
		text += *in.Phone
	}
	return text
}

func fold(text string) string { return cases.Fold().String(norm.NFC.String(text)) }
