<?php

declare(strict_types=1);

namespace Storefront;

/** An HTTP answer, as a Transport returns it. */
final class Response
{
    /** @param array<string, string> $headers their names are in lower case */
    public function __construct(
        public readonly int $status,
        public readonly array $headers,
        public readonly string $body,
    ) {
    }
}
