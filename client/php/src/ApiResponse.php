<?php

declare(strict_types=1);

namespace Storefront;

/**
 * The HTTP response of a call, without its body.
 *
 *     $customer = $shop->customers->create(email: 'ada@example.com');
 *     $isNew = ApiResponse::of($customer)->status === 201;
 */
final class ApiResponse
{
    /** @var \WeakMap<object, self>|null the response of each answer, kept here so that answers have only the API's fields */
    private static ?\WeakMap $all = null;

    /**
     * @param int $status 201 for a customer or a payment link that was created, otherwise 200
     * @param array<string, string> $headers their names are in lower case
     * @param string|null $requestId the request's identifier in the service's logs, to quote when you ask for help
     * @param RateLimit|null $rateLimit the rate limit of the key; null if the service did not send it
     */
    private function __construct(
        public readonly int $status,
        public readonly array $headers,
        public readonly ?string $requestId,
        public readonly ?RateLimit $rateLimit,
    ) {
    }

    /**
     * Returns the response of the object that a call returned; for a list, of a page.
     *
     * @throws \InvalidArgumentException for any other object, such as an item of a page or a copy
     */
    public static function of(object $answer): self
    {
        return self::$all[$answer] ?? throw new \InvalidArgumentException(
            'this object came with no response: pass the object that the call returned',
        );
    }

    /** @internal Records the response of an answer. */
    public static function record(object $answer, Response $response): void
    {
        $numbers = [];
        foreach (['limit', 'remaining', 'reset'] as $name) {
            $numbers[] = filter_var($response->headers["x-ratelimit-$name"] ?? '', FILTER_VALIDATE_INT);
        }
        $limit = \in_array(false, $numbers, true) ? null : new RateLimit(...$numbers);
        self::$all ??= new \WeakMap();
        self::$all[$answer] = new self($response->status, $response->headers, $response->headers['x-request-id'] ?? null, $limit);
    }
}
