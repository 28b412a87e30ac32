package resource

import "go.storefront.example/gen/ent"

// StoreFields are the fields of stores that the activity journal has. Requests can set the fields that have a Pointer.
var StoreFields = Fields[ent.Store]{
	{Name: "name", Pointer: func(s *ent.Store) any { return &s.Name }, Form: Line},
	{Name: "slug"},
	{Name: "url", Pointer: func(s *ent.Store) any { return &s.URL }, Form: Address},
	{Name: "description", Pointer: func(s *ent.Store) any { return &s.Description }},
	{Name: "currency"},
	{Name: "country"},
	{Name: "support_email", Pointer: func(s *ent.Store) any { return &s.SupportEmail }, Form: Contact},
	{Name: "phone", Pointer: func(s *ent.Store) any { return &s.Phone }, Form: Phone},
	{Name: "whatsapp_phone", Pointer: func(s *ent.Store) any { return &s.WhatsappPhone }, Form: Phone},
	{Name: "social_links", Pointer: func(s *ent.Store) any { return &s.SocialLinks }},
	{Name: "status", Pointer: func(s *ent.Store) any { return &s.Status }},
	{Name: "payment_links_open", Pointer: func(s *ent.Store) any { return &s.PaymentLinksOpen }, Journal: "paymentLinks"},
	{Name: "unavailable_types", Pointer: func(s *ent.Store) any { return &s.UnavailableTypes }},
	{Name: "platform_fee_percent", Pointer: func(s *ent.Store) any { return &s.PlatformFeePercent }},
}

// ProductFields are the fields of products that the activity journal has. Requests can set the fields that have a Pointer.
var ProductFields = Fields[ent.Product]{
	{Name: "title", Pointer: func(p *ent.Product) any { return &p.Title }, Form: Line},
	{Name: "slug"},
	{Name: "type"},
	{Name: "status", Pointer: func(p *ent.Product) any { return &p.Status }},
	{Name: "summary", Pointer: func(p *ent.Product) any { return &p.Summary }},
	{Name: "description", Pointer: func(p *ent.Product) any { return &p.Description }},
	{Name: "price_amount", Pointer: func(p *ent.Product) any { return &p.PriceAmount }},
	{Name: "compare_at_amount", Pointer: func(p *ent.Product) any { return &p.CompareAtAmount }},
	{Name: "cover_url", Pointer: func(p *ent.Product) any { return &p.CoverURL }, Form: Address},
	{Name: "content_ready", Pointer: func(p *ent.Product) any { return &p.ContentReady }},
}

// CustomerFields are the fields of customers that the activity journal has and requests can set.
var CustomerFields = Fields[ent.Customer]{
	{Name: "name", Pointer: func(c *ent.Customer) any { return &c.Name }, Form: Line},
	{Name: "email", Pointer: func(c *ent.Customer) any { return &c.Email }, Form: Email},
	{Name: "phone", Pointer: func(c *ent.Customer) any { return &c.Phone }, Form: Phone},
}

// OrderFields are the fields of orders that the activity journal has.
var OrderFields = Fields[ent.Order]{
	{Name: "reference"},
	{Name: "status"},
	{Name: "amount"},
	{Name: "customer_id"},
	{Name: "payment_link_id"},
	{Name: "note"},
}

// PaymentLinkFields are the fields of payment links that the activity journal has. Requests can set the fields that have a
// Pointer.
var PaymentLinkFields = Fields[ent.PaymentLink]{
	{Name: "code"},
	{Name: "title", Pointer: func(l *ent.PaymentLink) any { return &l.Title }, Form: Line},
	{Name: "description", Pointer: func(l *ent.PaymentLink) any { return &l.Description }},
	{Name: "cover_url", Pointer: func(l *ent.PaymentLink) any { return &l.CoverURL }, Form: Address},
	{Name: "pricing", Pointer: func(l *ent.PaymentLink) any { return &l.Pricing }},
	{Name: "amount", Pointer: func(l *ent.PaymentLink) any { return &l.Amount }},
	{Name: "min_amount", Pointer: func(l *ent.PaymentLink) any { return &l.MinAmount }},
	{Name: "thank_you_message", Pointer: func(l *ent.PaymentLink) any { return &l.ThankYouMessage }},
	{Name: "expires_at", Pointer: func(l *ent.PaymentLink) any { return &l.ExpiresAt }},
	{Name: "max_payments", Pointer: func(l *ent.PaymentLink) any { return &l.MaxPayments }},
	{Name: "disabled_at", Pointer: func(l *ent.PaymentLink) any { return &l.DisabledAt }},
}

// APIKeyFields are the fields of API keys that the activity journal has.
var APIKeyFields = Fields[ent.ApiKey]{{Name: "name"}, {Name: "scopes"}, {Name: "expires_at"}, {Name: "revoked_at"}}

// WebhookFields are the fields of webhooks that the activity journal has. Requests can set the fields that have a Pointer.
var WebhookFields = Fields[ent.Webhook]{
	{Name: "url", Pointer: func(w *ent.Webhook) any { return &w.URL }, Form: Unchecked},
	{Name: "description", Pointer: func(w *ent.Webhook) any { return &w.Description }},
	{Name: "events", Pointer: func(w *ent.Webhook) any { return &w.Events }},
	{Name: "enabled"},
	{Name: "disabled_automatically"},
}
