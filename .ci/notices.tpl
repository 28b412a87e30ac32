Storefront contains the following software. Each is under the licence below its name.
{{ range . }}
================================================================================
{{ .Name }} {{ .Version }}, {{ .LicenseName }}

{{ .LicenseText }}
{{ end }}
================================================================================
The standard library of Go, BSD-3-Clause

