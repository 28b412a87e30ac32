package main

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"time"

	"go.storefront.example/ent/db"
	"go.storefront.example/ent/hook"
	"go.storefront.example/ent/notice"
	"go.storefront.example/server"
	"go.storefront.example/server/certificate"
)

// certificates has the flags of a server that terminates TLS itself.
type certificates struct {
	TLSDomains      []string `name:"tls-domain" placeholder:"NAME,…" help:"Host names of the API, such as api.example.com, for TLS with certificates by ACME (Let's Encrypt). By using this flag you accept the authority's terms."`
	DashboardDomain string   `name:"dashboard-domain" placeholder:"NAME" help:"Host name, with a certificate, under which the public listener shows only the dashboard. Needs --admin-token."`
	TLSFolder       string   `name:"tls-folder" placeholder:"DIR" help:"Folder of the certificates and of the account's key (default: <SQLite file>.certificates)."`
	ACMEEmail       string   `name:"acme-email" placeholder:"EMAIL" help:"E-mail address to which the authority sends warnings about certificates."`
	ACMEDirectory   string   `name:"acme-directory" placeholder:"URL" help:"ACME directory of another authority (default: Let's Encrypt)."`
	TLSCert         string   `name:"tls-cert" placeholder:"FILE" help:"Certificate chain in PEM, in place of ACME; read again when the file changes."`
	TLSKey          string   `name:"tls-key" placeholder:"FILE" help:"Private key of --tls-cert, in PEM."`
	PlainAddr       string   `name:"plain-addr" default:":80" placeholder:"ADDR" help:"With TLS, address for the authority's challenges and redirects to HTTPS; none turns it off."`
}

func (c certificates) enabled() bool { return len(c.TLSDomains) > 0 || c.TLSCert != "" }

// addresses returns the addresses of the listeners, unless the API and the dashboard have names.
func (c certificates) addresses(api, pages string) (string, string) {
	if len(c.TLSDomains) > 0 {
		api = "https://" + c.TLSDomains[0]
	}
	if c.DashboardDomain != "" {
		pages = "https://" + c.DashboardDomain
	}
	return api, pages
}

func (c certificates) check(databaseURL, adminToken string) error {
	switch {
	case (c.TLSCert == "") != (c.TLSKey == ""):
		return usage("--tls-cert and --tls-key: set both")
	case !c.enabled() && (c.DashboardDomain != "" || c.TLSFolder != "" || c.ACMEEmail != "" || c.ACMEDirectory != ""):
		return usage("--tls-domain: set it to the names of the API, or set --tls-cert and --tls-key")
	case c.DashboardDomain != "" && adminToken == "":
		return usage("--dashboard-domain: the dashboard is off without --admin-token")
	case c.enabled() && c.TLSCert == "" && c.TLSFolder == "" && !strings.HasPrefix(databaseURL, "sqlite:"):
		return usage("--tls-folder: name a folder for the certificates")
	}
	for _, name := range append(slices.Clone(c.TLSDomains), c.DashboardDomain) {
		if strings.ContainsAny(name, "/:* ") || strings.ToLower(name) != name || name != "" && !strings.Contains(name, ".") {
			return usage("--tls-domain and --dashboard-domain: must be names such as api.example.com, not %q", name)
		}
	}
	if slices.Contains(c.TLSDomains, c.DashboardDomain) {
		return usage("--dashboard-domain: must be another name than the API's")
	}
	return nil
}

// set turns on TLS if the flags ask for it. explicitAddr is true if --addr is set.
func (c certificates) set(config *server.Config, databaseURL string, explicitAddr bool) error {
	if !c.enabled() {
		return nil
	}
	settings := certificate.Config{
		Folder: c.TLSFolder, Email: c.ACMEEmail, Directory: c.ACMEDirectory, CertFile: c.TLSCert, KeyFile: c.TLSKey, Logger: config.Logger,
		Failing: certificateNotice(config.DB, config.Logger),
	}
	settings.Domains = slices.Clone(c.TLSDomains)
	if c.DashboardDomain != "" {
		settings.Domains = append(settings.Domains, c.DashboardDomain)
	}
	if settings.Folder == "" {
		settings.Folder = strings.TrimPrefix(databaseURL, "sqlite:") + ".certificates"
	}
	var err error
	if config.Certificates, err = certificate.New(settings); err != nil {
		return errors.Join(errors.New("the certificates cannot be read"), err)
	}
	config.APIDomains, config.DashboardDomain = c.TLSDomains, c.DashboardDomain
	if c.PlainAddr != none {
		config.PlainAddr = c.PlainAddr
	}
	if !explicitAddr {
		config.Addr = ":443"
	}
	return nil
}

// certificateNotice returns a function that writes a notice about a name whose certificate cannot be ordered or renewed.
func certificateNotice(handle *db.DB, logger *slog.Logger) func(context.Context, string, time.Time, error) {
	return func(ctx context.Context, name string, ends time.Time, cause error) {
		n := notice.Notice{Type: notice.CertificateFailing, Data: map[string]any{"name": name, "error": cause.Error(), "endsAt": nil}}
		if !ends.IsZero() {
			n.Data["endsAt"] = ends.UTC()
		}
		if err := hook.Run(ctx, handle, func(c *hook.Change) error { return notice.Write(c, handle, c.Tx, c.Time(), n) }); err != nil {
			logger.ErrorContext(ctx, "the notice of the certificate is not written", "name", name, "error", err)
		}
	}
}
