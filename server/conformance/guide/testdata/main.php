<?php

// What calls the functions of the guide; those beside it are its blocks.

declare(strict_types=1);

require 'vendor/autoload.php';
require 'part_changes.php';
require 'part_errors.php';
require 'part_lists.php';

set_error_handler(static fn (int $level, string $message) => error_reporting() & $level ? throw new ErrorException($message) : true);
$shop = new Storefront\Client(getenv('SHOP_URL'), getenv('SHOP_KEY'));
foreach ($shop->products->list(status: 'DRAFT') as $product) {
    $draft = $product->id;
}
echo 'no reference price: ', json_encode(noReference($shop, $draft)->compareAtAmount === null), "\n";
echo 'missing: ', implode(' ', publish($shop, $draft)), "\n";
$paid = countPaid($shop);
echo 'paid: ', json_encode($paid === $shop->orders->page(status: 'PAID')->total && $paid > 25), "\n";

// The receiver is a file of its own, as a web server runs it; its log is standard error.
$body = stream_get_contents(STDIN);
$free = stream_socket_server('tcp://127.0.0.1:0');
$address = stream_socket_get_name($free, false);
fclose($free);
$log = tempnam(sys_get_temp_dir(), 'guide');
$server = proc_open(['php', '-S', $address, 'part_receiving.php'], [['file', '/dev/null', 'r'], ['file', $log, 'w'], ['file', $log, 'w']], $pipes);
for ($i = 0; $i < 300 && !($up = @fsockopen("tcp://$address")); $i++) {
    usleep(100_000);
}
$answers = [];
foreach ([$body, "$body "] as $sent) {
    $request = curl_init("http://$address/webhooks");
    curl_setopt_array($request, [CURLOPT_POSTFIELDS => $sent, CURLOPT_RETURNTRANSFER => true, CURLOPT_HTTPHEADER => ['Service-Signature: ' . getenv('SIGNATURE')]]);
    curl_exec($request);
    $answers[] = curl_getinfo($request, CURLINFO_RESPONSE_CODE);
}
proc_terminate($server);
proc_close($server);
preg_match('/customer\.created .*/', file_get_contents($log), $said);
unlink($log);
echo $said[0] ?? 'nothing', "\n";
echo 'answers: ', implode(' ', $answers), "\n";
