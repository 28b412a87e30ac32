<?php

declare(strict_types=1);

namespace Storefront;

/**
 * The API of a store, with one key.
 *
 *     $shop = new Client('https://api.example.com', getenv('SHOP_KEY'));
 *     foreach ($shop->products->list(status: ProductStatus::PUBLISHED) as $product) {
 *         echo $product->title, ' ', $product->priceAmount, ' ', $product->currency, "\n";
 *     }
 *
 * A request that failed is sent again by this table, at most $maxRetries times:
 *
 *     after                              paymentLinks->create   everything else
 *     429                                after Retry-After      after Retry-After
 *     5xx, no answer, none in 30 s       never                  after Retry-After or a growing pause
 *
 * A 429 changed nothing; after any other failure a payment link may have been created, and it takes
 * money, so the caller decides. A Retry-After of more than a minute is not waited for.
 *
 * Each call throws a StorefrontException when it fails, and an \InvalidArgumentException for an
 * argument that cannot be sent. The key is sent to the base URL alone, never over plain HTTP to
 * another machine, never along a redirect, and no dump of an object shows it.
 */
final class Client
{
    public const VERSION = '2026.9.0';

    public readonly Resource\Store $store;
    public readonly Resource\Products $products;
    public readonly Resource\Orders $orders;
    public readonly Resource\Customers $customers;
    public readonly Resource\PaymentLinks $paymentLinks;

    /**
     * @param string $baseUrl the address of the service, without /v1: https://api.example.com
     * @param string $apiKey svc_live_…, on servers only
     * @param int $maxRetries the most retries of a request; 0 means none
     * @param float $timeout how many seconds a call may take, with its retries and waits; for a list, each of its pages
     * @param bool $allowHttp accept http:// to another machine, for private networks only: the key crosses them in clear text
     * @param Transport|null $transport what sends requests, by default curl; Psr18Transport takes a client of yours
     * @param string $userAgent your program's name, such as crm/1.4, which goes before this package's
     * @throws \InvalidArgumentException if one of them cannot be used; it never contains the key
     */
    public function __construct(
        string $baseUrl,
        #[\SensitiveParameter] string $apiKey,
        int $maxRetries = 3,
        float $timeout = 120.0,
        bool $allowHttp = false,
        ?Transport $transport = null,
        string $userAgent = '',
    ) {
        $connection = new Connection(
            $baseUrl,
            $apiKey,
            $maxRetries,
            $timeout,
            $allowHttp,
            $transport ?? new CurlTransport(),
            $userAgent,
        );
        $this->store = new Resource\Store($connection);
        $this->products = new Resource\Products($connection);
        $this->orders = new Resource\Orders($connection);
        $this->customers = new Resource\Customers($connection);
        $this->paymentLinks = new Resource\PaymentLinks($connection);
    }
}
