<?php

declare(strict_types=1);

namespace Storefront;

/** An event of a type that is newer than this package: answer 2xx and ignore it. Its data is in $raw. */
final class UnknownEvent extends Event
{
}
