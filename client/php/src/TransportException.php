<?php

declare(strict_types=1);

namespace Storefront;

/** Thrown by a Transport when no complete answer came. It is the previous exception of the call's StorefrontException. */
final class TransportException extends \RuntimeException
{
    public function __construct(string $message, public readonly bool $timedOut = false, ?\Throwable $previous = null)
    {
        parent::__construct($message, 0, $previous);
    }
}
