<?php

// This program calls the functions of the guide. The other files in its folder are the blocks of the guide.

declare(strict_types=1);

require 'vendor/autoload.php';
require 'part_errors.php';
require 'part_lists.php';

set_error_handler(static fn (int $level, string $message) => error_reporting() & $level ? throw new ErrorException($message) : true);
$shop = new Storefront\Client(getenv('SHOP_URL'), getenv('SHOP_KEY'));
$drafts = [];
foreach ($shop->products->list(status: 'DRAFT') as $product) {
    $drafts[] = $product->id;
}
echo 'missing: ', implode(' ', publish($shop, end($drafts))), "\n";
$archived = archiveDrafts($shop);
echo 'archived: ', json_encode($archived === count($drafts) && $shop->products->page(status: 'DRAFT')->total === 0), "\n";
foreach ($drafts as $id) { // for the programs in other languages
    $shop->products->update($id, status: 'DRAFT');
}
