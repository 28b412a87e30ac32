<?php

declare(strict_types=1);

namespace Storefront;

/** The default of an update's arguments: the field stays as it is. null instead clears a field that can be null. */
enum Omitted
{
    case Field;
}
