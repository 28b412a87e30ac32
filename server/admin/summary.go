package admin

import (
	"encoding/json"

	"go.storefront.example/ent/hook"
	"go.storefront.example/server/validate"
)

// EventSummary returns a text such as "Order ORD-1 · 12,000 XAF", or "" if the payload has neither a name nor an amount.
func EventSummary(payload []byte) string {
	var event struct {
		Type string
		Data struct {
			Reference, Title, Name, Currency, Message, StoreName string
			Amount, PriceAmount                                  *int64
			Email, Phone                                         *string
			Customer                                             struct{ Name string }
		}
	}
	if json.Unmarshal(payload, &event) != nil {
		return ""
	}
	data := event.Data
	switch {
	case event.Type == hook.Ping:
		return data.Message
	case data.StoreName != "": // a notice
		return "Store " + data.StoreName
	case data.Reference != "" && data.Amount != nil:
		text := "Order " + data.Reference + " · " + validate.FormatAmount(*data.Amount, data.Currency)
		if data.Customer.Name != "" {
			text += " · " + data.Customer.Name
		}
		return text
	case data.Title != "" && data.PriceAmount != nil:
		return data.Title + " · " + validate.FormatAmount(*data.PriceAmount, data.Currency)
	}
	for _, name := range []*string{&data.Name, data.Email, data.Phone} {
		if name != nil && *name != "" {
			return "Customer " + *name
		}
	}
	return ""
}
