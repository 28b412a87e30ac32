<?php

declare(strict_types=1);

namespace Storefront;

/** One refused field of a request. */
final class FieldError
{
    public function __construct(
        /** The field's name in the JSON or the query, such as pageSize. Dots join the names of nested fields. */
        public readonly string $field,
        /** What the field may hold, in English. */
        public readonly string $message,
    ) {
    }
}
