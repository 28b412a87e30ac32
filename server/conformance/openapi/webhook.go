package openapi

import (
	"fmt"
	"net/http"
	"slices"
)

type webhook struct {
	seen    *mark
	headers []*parameter
	body    *body
}

// deliveryHeaders may be in a delivery because HTTP defines them.
var deliveryHeaders = []string{"Accept-Encoding", "Connection", "Content-Length", "Content-Type"}

func (d *Document) readWebhooks() error {
	all, _ := d.find("/webhooks").(map[string]any)
	for kind := range all {
		owner, item := "webhook "+kind, "/webhooks/"+escape(kind)
		place, _, err := d.resolve(item)
		if err != nil {
			return err
		}
		w := &webhook{seen: d.mark(owner)}
		for _, pointer := range []string{place, place + "/post"} {
			headers, err := d.parameters(owner, pointer+"/parameters", "header")
			if err != nil {
				return err
			}
			w.headers = append(w.headers, headers...)
		}
		if w.body, err = d.body(place + "/post/requestBody"); err != nil {
			return err
		}
		if w.body == nil {
			return fmt.Errorf("%s: no body", owner)
		}
		d.webhooks[kind] = w
	}
	return nil
}

// Delivery returns an error if a delivery differs from the document, or marks what it shows as seen.
func (d *Document) Delivery(header http.Header, text []byte) error {
	value, err := decode(text)
	if err != nil {
		return fmt.Errorf("delivery: the body is no JSON: %w", err)
	}
	envelope, _ := value.(map[string]any)
	kind, _ := envelope["type"].(string)
	w := d.webhooks[kind]
	if w == nil {
		return fmt.Errorf("delivery: the document has no webhook %q", kind)
	}
	if err := w.validate(header, text); err != nil {
		return fmt.Errorf("delivery of %s: %w", kind, err)
	}
	w.seen.set()
	for _, p := range w.headers {
		if values := header.Values(p.name); len(values) > 0 {
			p.cover(values)
		}
	}
	w.body.shapeFor(header).cover(value)
	return nil
}

func (w *webhook) validate(header http.Header, text []byte) error {
	known := slices.Clone(deliveryHeaders)
	for _, p := range w.headers {
		known = append(known, http.CanonicalHeaderKey(p.name))
		values := header.Values(p.name)
		if len(values) == 0 {
			if p.required {
				return fmt.Errorf("the header %s is missing", p.name)
			}
			continue
		}
		if err := p.validate(values); err != nil {
			return err
		}
	}
	for name := range header {
		if !slices.Contains(known, name) {
			return fmt.Errorf("the document has no header %s", name)
		}
	}
	_, err := w.body.validate(header, text)
	return err
}
