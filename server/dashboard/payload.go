package dashboard

import (
	"bytes"
	"encoding/json"

	"go.storefront.example/ent/hook"
)

// indented is an envelope on several lines: every name and value as it was sent, only the white
// space is ours. What is no JSON is left as it is.
func indented(payload []byte) string {
	var b bytes.Buffer
	if json.Indent(&b, payload, "", "  ") != nil {
		return string(payload)
	}
	return b.String()
}

// about describes in a few words what an event concerns: the name and the amount of what it concerns.
func about(payload []byte) string {
	var event struct {
		Type string
		Data struct {
			Reference, Title, Name, Currency, Message string
			Amount, PriceAmount                       *int64
			Email, Phone                              *string
			Customer                                  struct{ Name string }
		}
	}
	if json.Unmarshal(payload, &event) != nil {
		return ""
	}
	data := event.Data
	switch {
	case event.Type == hook.Ping:
		return data.Message
	case data.Reference != "" && data.Amount != nil:
		text := "Order " + data.Reference + " · " + amount(*data.Amount, data.Currency)
		if data.Customer.Name != "" {
			text += " · " + data.Customer.Name
		}
		return text
	case data.Title != "" && data.PriceAmount != nil:
		return data.Title + " · " + amount(*data.PriceAmount, data.Currency)
	}
	for _, name := range []*string{&data.Name, data.Email, data.Phone} {
		if name != nil && *name != "" {
			return "Customer " + *name
		}
	}
	return ""
}
