<?php

declare(strict_types=1);

namespace Storefront;

/** An answer over HTTP, as a Transport returns it. */
final class Response
{
    /** @param array<string, string> $headers by their names in lower case */
    public function __construct(
        public readonly int $status,
        public readonly array $headers,
        public readonly string $body,
    ) {
    }
}
