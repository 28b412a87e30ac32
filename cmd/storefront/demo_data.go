package main

import (
	"time"

	adminv1 "go.storefront.example/gen/storefront/admin/v1"
	storefrontv1 "go.storefront.example/gen/storefront/v1"
)

// demoStore is what a demo store holds. All have the same buyers.
type demoStore struct {
	store    *adminv1.CreateStoreRequest
	products []demoProduct
	links    []demoLink
	orders   int
}

// demoStores are a shop in Douala that sells knowledge in French, with prices in francs, which have no decimals, and
// its smaller sister in Paris, with prices in euros.
func demoStores() []demoStore {
	return []demoStore{{douala(), demoProducts, demoLinks, 60}, {paris(), demoEuroProducts, demoEuroLinks, 20}}
}

func douala() *adminv1.CreateStoreRequest {
	return &adminv1.CreateStoreRequest{
		Name: "Atelier Mboa", Slug: demoSlug, Currency: "XAF", Country: "CM",
		Description:  new("Guides, cours et rencontres pour entrepreneurs, à Douala et en ligne."),
		SupportEmail: new("bonjour@atelier-mboa.example"),
		Phone:        new("+237670001000"), WhatsappPhone: new("+237670001001"),
		SocialLinks: map[string]string{"facebook": "https://facebook.com/ateliermboa",
			"instagram": "https://instagram.com/ateliermboa"},
		PlatformFeePercent: new(5.0),
	}
}

func paris() *adminv1.CreateStoreRequest {
	return &adminv1.CreateStoreRequest{
		Name: "Atelier Mboa Paris", Slug: demoEuroSlug, Currency: "EUR", Country: "FR",
		Description: new("Les guides et cours de l'Atelier Mboa, à Paris."), SupportEmail: new("paris@atelier-mboa.example"),
		PlatformFeePercent: new(5.0),
	}
}

// demoProduct is a product of a demo store; no reference price is 0.
type demoProduct struct {
	title, summary   string
	kind             storefrontv1.Product_Type
	status           storefrontv1.Product_Status
	price, compareAt int64
}

var demoEuroProducts = []demoProduct{
	{"Guide du marché, édition européenne", "Soixante pages sur la vente en ligne.", storefrontv1.Product_FILE,
		storefrontv1.Product_PUBLISHED, 1550, 1990},
	{"Recettes de la côte", "Trente plats, pas à pas.", storefrontv1.Product_FILE, storefrontv1.Product_PUBLISHED, 999, 0},
	{"Photographier ses produits", "Six leçons filmées.", storefrontv1.Product_COURSE, storefrontv1.Product_PUBLISHED, 49900, 0},
	{"Caisse Facile, licence d'un an", "Le logiciel de caisse pour un poste.", storefrontv1.Product_LICENSE,
		storefrontv1.Product_PUBLISHED, 123450, 0},
	{"Écrire pour vendre", "Cours en préparation.", storefrontv1.Product_COURSE, storefrontv1.Product_DRAFT, 8000, 0},
}

var demoEuroLinks = []demoLink{
	{title: "Soutenir l'atelier", pricing: storefrontv1.PaymentLink_OPEN, minAmount: new(int64(500)),
		thanks: new("Merci de tout cœur !")},
	{title: "Acompte", pricing: storefrontv1.PaymentLink_FIXED, amount: new(int64(2500))},
}

var demoProducts = []demoProduct{
	{"Guide du marché : vendre sans boutique", "Quarante pages sur la vente par téléphone et messagerie.", storefrontv1.Product_FILE,
		storefrontv1.Product_PUBLISHED, 1500, 2500},
	{"Modèles de factures et devis", "Dix modèles prêts à remplir.", storefrontv1.Product_FILE, storefrontv1.Product_PUBLISHED, 2000,
		0},
	{"Recettes de Mamá Ngónó", "Trente plats de la côte, pas à pas.", storefrontv1.Product_FILE, storefrontv1.Product_PUBLISHED,
		3500, 5000},
	{"Photographier ses produits au téléphone", "Six leçons filmées, du cadrage à la retouche.", storefrontv1.Product_COURSE,
		storefrontv1.Product_PUBLISHED, 12000, 15000},
	{"Comptabilité simple pour petits commerces", "Huit semaines, un exercice chaque vendredi.", storefrontv1.Product_COURSE,
		storefrontv1.Product_PUBLISHED, 25000, 0},
	{"Écrire pour vendre", "Cours en préparation.", storefrontv1.Product_COURSE, storefrontv1.Product_DRAFT, 10000, 0},
	{"Caisse Facile, licence d'un an", "Le logiciel de caisse pour un poste.", storefrontv1.Product_LICENSE,
		storefrontv1.Product_PUBLISHED, 30000, 36000},
	{"Caisse Facile 1, licence à vie", "L'ancienne version, encore tenue à jour.", storefrontv1.Product_LICENSE,
		storefrontv1.Product_ARCHIVED, 18000, 0},
	{"Une heure de conseil avec Aïcha", "Visioconférence, sur rendez-vous.", storefrontv1.Product_MEETING,
		storefrontv1.Product_PUBLISHED, 20000, 0},
	{"Revue de votre boutique en ligne", "Rendez-vous de deux heures, rapport écrit.", storefrontv1.Product_MEETING,
		storefrontv1.Product_DRAFT, 45000, 0},
	{"Soirée des entrepreneurs de Bonapriso", "Rencontres et tables rondes, une boisson comprise.", storefrontv1.Product_EVENT,
		storefrontv1.Product_PUBLISHED, 5000, 0},
	{"Atelier savon : édition de mars", "Une journée pour fabriquer son premier savon.", storefrontv1.Product_EVENT,
		storefrontv1.Product_ARCHIVED, 15000, 0},
}

// demoLinks has one link of each kind: open and fixed ones that take payments, one whose end date
// passes, one whose cap is reached, and last the one that is disabled.
var demoLinks = []demoLink{
	{title: "Soutenir l'atelier", pricing: storefrontv1.PaymentLink_OPEN, minAmount: new(int64(500)),
		description: new("Chaque franc aide à offrir une place."), thanks: new("Merci de tout cœur !")},
	{title: "Acompte commande spéciale", pricing: storefrontv1.PaymentLink_FIXED, amount: new(int64(10000)),
		thanks: new("Nous vous rappelons demain.")},
	{title: "Places de lancement", pricing: storefrontv1.PaymentLink_FIXED, amount: new(int64(4000)), maxPayments: new(int32(3))},
	{title: "Offre de la rentrée", pricing: storefrontv1.PaymentLink_FIXED, amount: new(int64(9000)), lasts: 25 * 24 * time.Hour},
	{title: "Cotisation du club", pricing: storefrontv1.PaymentLink_FIXED, amount: new(int64(2500)), maxPayments: new(int32(500))},
}

// demoLink is a payment link of a demo store.
type demoLink struct {
	title               string
	pricing             storefrontv1.PaymentLink_Pricing
	amount, minAmount   *int64
	description, thanks *string
	maxPayments         *int32
	lasts               time.Duration
}

// demoLinkOf returns the link of an order, by its index in demoLinks, and the amount that its buyer
// chose; -1 is an order from the catalogue.
func demoLinkOf(i int) (link int, chosen *int64) {
	switch i {
	case 6, 16, 26: // paid, until the cap is reached
		return 2, nil
	case 2, 12:
		return 3, nil
	case 11, 21, 31, 41:
		return 4, nil
	}
	switch i % 8 {
	case 1:
		return 0, new(int64(500 + 250*(i%5)))
	case 6:
		return 1, nil
	}
	return -1, nil
}

var demoNotes = []string{
	"Merci d'envoyer la facture à mon bureau.",
	"C'est un cadeau, sans le prix s'il vous plaît.",
	"Je passe par un ami, appelez-moi d'abord.",
}

// demoCustomers are buyers; those without an e-mail have a phone, some have both.
var demoCustomers = []struct{ name, email string }{
	{"Aïcha Njoya", "aicha.njoya@example.com"}, {"Benoît Essomba", "benoit@example.com"}, {"Chantal Mbarga", ""},
	{"Désiré Fouda", "desire.fouda@example.net"}, {"Élodie Ngo Bassa", "elodie@example.org"}, {"François Tchoupo", ""},
	{"Gisèle Atangana", "gisele@example.com"}, {"Hervé Kamdem", "h.kamdem@example.com"}, {"Inès Bella", "ines.bella@example.net"},
	{"Joël Manga", ""}, {"Kévin Nkoulou", "kevin@example.com"}, {"Léonie Abena", "leonie.abena@example.org"},
	{"Mariama Oumarou", "mariama@example.com"}, {"Noëlle Ekambi", "noelle@example.net"}, {"Ousmane Bouba", ""},
	{"Pélagie Zambo", "pelagie@example.com"}, {"Quentin Mvondo", "quentin@example.org"}, {"Régine Tchatchoua", "regine@example.com"},
	{"Séverin Ondoa", ""}, {"Thérèse Biya Ngono", "therese@example.net"}, {"Ulrich Fotso", "ulrich@example.com"},
	{"Véronique Ngué", "veronique@example.org"}, {"Wilfried Ateba", ""}, {"Xavière Mengue", "xaviere@example.com"},
	{"Yaël Bikoï", "yael@example.net"}, {"Zénabou Hamidou", "zenabou@example.com"}, {"Aurélien Djoumessi", ""},
	{"Brigitte Nguémo", "brigitte@example.org"}, {"Cédric Tsafack", "cedric@example.com"},
	{"Danièle Ebongué", "daniele@example.net"},
	{"Étienne Ndongo", ""}, {"Fadimatou Alioum", "fadimatou@example.com"}, {"Gaël Eyenga", "gael@example.org"},
	{"Hélène Ngassa", "helene@example.com"}, {"Ibrahim Mohamadou", ""}, {"Jérôme Owona", "jerome@example.net"},
	{"Karine Sø Mballa", "karine@example.com"}, {"Loïc Ngannou", "loic@example.org"}, {"Mélanie Toukam", "melanie@example.com"},
	{"Nadège Çelik Ewane", "nadege@example.net"}, {"Łukasz Nowak", "lukasz@example.com"}, {"José Ángel Ndi", ""},
}
