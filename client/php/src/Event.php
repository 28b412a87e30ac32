<?php

declare(strict_types=1);

namespace Storefront;

/**
 * An event of a store, which is the body of a delivery. Each type is a class, whose $data is the object concerned:
 *
 *     if ($event instanceof OrderPaidEvent) {
 *         echo $event->data->reference;
 *
 * An event may come more than once, and events may come in any order.
 */
abstract class Event
{
    /**
     * @param EventType::*|string $type
     * @param array<mixed> $raw
     */
    public function __construct(
        /** The event's id, the same at every attempt: remember it to handle an event once. */
        public readonly string $id,
        /** What happened. */
        public readonly string $type,
        /** When it happened: it increases from each event of an object to the next. */
        public readonly \DateTimeImmutable $createdAt,
        /** Where it happened. */
        public readonly EventStore $store,
        /** The whole event as received, decoded, with fields that are newer than this package. */
        public readonly array $raw,
    ) {
    }
}
