<?php

// The PHP driver of client/conformance. It reads requests from standard input, a JSON object on each line, and prints a JSON
// object for each: the answer or the error.
//
//     php driver.php PACKAGE    PACKAGE is the package's folder src or its storefront.php

declare(strict_types=1);

use Storefront\ApiResponse;
use Storefront\Client;
use Storefront\StorefrontException;
use Storefront\Webhook;
use Storefront\WebhookException;

set_error_handler(static fn (int $level, string $message, string $file, int $line) => throw new ErrorException($message, 0, $level, $file, $line));
$package = $argv[1];
if (is_file($package)) {
    require $package;
} else {
    spl_autoload_register(static function (string $class) use ($package): void {
        require $package . '/' . str_replace('\\', '/', substr($class, strlen('Storefront\\'))) . '.php';
    });
}

$clients = [];
$run = static function (array $asked) use (&$clients): mixed {
    switch ($asked['do']) {
        case 'open':
            $clients[$asked['client']] = new Client(...$asked['arguments']);

            return null;
        case 'call':
            $answer = $clients[$asked['client']]->{$asked['resource']}->{$asked['method']}(...$asked['arguments']);
            if ($asked['response'] ?? false) {
                $got = ApiResponse::of($answer);

                return ['status' => $got->status, 'requestId' => $got->requestId, 'header' => $got->headers['content-type'] ?? null,
                    'rateLimit' => $got->rateLimit === null ? null : ['limit' => $got->rateLimit->limit,
                        'remaining' => $got->rateLimit->remaining, 'resetSeconds' => $got->rateLimit->reset]];
            }

            return $answer instanceof Generator ? iterator_to_array($answer) : $answer;
        case 'verify':
            $event = Webhook::read(base64_decode($asked['body']), $asked['header'], $asked['secrets'], $asked['tolerance'], $asked['now']);

            return ['class' => basename(strtr($event::class, '\\', '/')), 'id' => $event->id, 'type' => $event->type,
                'data' => $event->data ?? null, 'store' => $event->store, 'createdAt' => $event->createdAt->format('Y-m-d\TH:i:s.v\Z')];
        case 'sign':
            return Webhook::sign(base64_decode($asked['body']), $asked['secret'], $asked['now']);
    }
    throw new LogicException('what is ' . $asked['do'] . '?');
};
while (($line = fgets(STDIN)) !== false) {
    try {
        $said = ['answer' => $run(json_decode($line, true, 512, JSON_THROW_ON_ERROR))];
    } catch (StorefrontException $e) {
        $said = ['refused' => ['code' => $e->errorCode, 'status' => $e->status ?? 0, 'operation' => $e->operation, 'fields' => $e->fields,
            'missing' => $e->missing, 'required' => $e->required ?? '', 'requestId' => $e->requestId ?? '', 'retryAfter' => $e->retryAfter ?? 0,
            'message' => $e->getMessage()]];
    } catch (WebhookException $e) {
        $said = ['refused' => ['code' => $e->reason, 'mistake' => $e->mistake, 'message' => $e->getMessage()]];
    } catch (InvalidArgumentException | TypeError $e) {
        $said = ['invalid' => $e->getMessage()];
    }
    echo json_encode($said, JSON_THROW_ON_ERROR | JSON_UNESCAPED_SLASHES | JSON_UNESCAPED_UNICODE), "\n";
}
