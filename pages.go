// Package storefront has the pages about Storefront, which server/docs shows as a site.
package storefront

import "embed"

// Pages has the pages as Markdown, and the OpenAPI document, by their paths in the repository.
//
//go:embed CHANGELOG.md CONTRIBUTING.md RELEASING.md SECURITY.md client/README.md client/php/README.md client/python/README.md
//go:embed client/typescript/README.md cmd/openapi/guide.md cmd/openapi/guide cmd/storefront/*.md cmd/storefront/manual gen/docs
//go:embed gen/openapi/storefront.json proto/CONTRACT.md
var Pages embed.FS
