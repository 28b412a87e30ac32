<?php

declare(strict_types=1);

namespace Storefront;

/** How many requests the API key may still make in this minute. */
final class RateLimit
{
    /**
     * @param int $limit the maximum number of requests in a minute
     * @param int $remaining the number of requests that are left in this minute
     * @param int $reset the seconds until the counter restarts
     */
    public function __construct(
        public readonly int $limit,
        public readonly int $remaining,
        public readonly int $reset,
    ) {
    }
}
