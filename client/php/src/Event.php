<?php

declare(strict_types=1);

namespace Storefront;

/**
 * An event of a store: the body of a delivery. Each type of event is a class, whose $data is the object that was changed:
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
        /** The event's id, the same in every delivery. Store the event by it, and ship by the order's id: a payment through a link has two events. */
        public readonly string $id,
        /** What happened. */
        public readonly string $type,
        /** When the event happened. Of two events of one object, the later event has the later time. */
        public readonly \DateTimeImmutable $createdAt,
        /** The store of the event. */
        public readonly EventStore $store,
        /** The whole event as decoded JSON, with the fields that this package does not know. */
        public readonly array $raw,
    ) {
    }
}
