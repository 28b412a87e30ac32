<?php

declare(strict_types=1);

namespace Storefront;

/** An argument of a change that is left out: its field stays as it is, whereas null clears one that can be null. */
enum Omitted
{
    case Field;
}
