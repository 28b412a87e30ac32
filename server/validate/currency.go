package validate

// decimals are the digits that the minor unit of a currency stands for where they are not two
// (ISO 4217, table A.1). Tables for display have other ones, such as none for the Iraqi dinar.
var decimals = map[string]int{
	"BIF": 0, "CLP": 0, "DJF": 0, "GNF": 0, "ISK": 0, "JPY": 0, "KMF": 0, "KRW": 0, "PYG": 0, "RWF": 0,
	"UGX": 0, "UYI": 0, "VND": 0, "VUV": 0, "XAF": 0, "XOF": 0, "XPF": 0,
	"BHD": 3, "IQD": 3, "JOD": 3, "KWD": 3, "LYD": 3, "OMR": 3, "TND": 3,
	"CLF": 4, "UYW": 4,
}

// Decimals returns how many digits the minor unit of a currency (ISO 4217) stands for.
func Decimals(currency string) int {
	if places, known := decimals[currency]; known {
		return places
	}
	return 2
}
