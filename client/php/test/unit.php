<?php

// Tests of behaviour that only the PHP client has; client/conformance tests what all clients share.
//
//     php unit.php FOLDER    FOLDER has the package that build.php has built

declare(strict_types=1);

use Storefront\Client;
use Storefront\Connection;
use Storefront\CurlTransport;
use Storefront\CustomerCreatedEvent;
use Storefront\Order;
use Storefront\ProductPage;
use Storefront\Psr18Transport;
use Storefront\Response;
use Storefront\Store;
use Storefront\StorefrontException;
use Storefront\TestReceiver;
use Storefront\Transport;
use Storefront\Webhook;
use Storefront\WebhookException;

set_error_handler(static fn (int $level, string $message, string $file, int $line) => throw new ErrorException($message, 0, $level, $file, $line));
spl_autoload_register(static function (string $class) use ($argv): void {
    if (str_starts_with($class, 'Storefront\\')) {
        require "$argv[1]/src/" . strtr(substr($class, strlen('Storefront\\')), '\\', '/') . '.php';
    }
});
require 'Symfony/Component/HttpFoundation/autoload.php';
require 'GuzzleHttp/autoload.php';

const KEY = 'svc_live_secretsecret';
const SECRET = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8';
const PRODUCT = ['id' => '1', 'title' => 'x', 'slug' => 'x', 'type' => 'FILE', 'status' => 'SOLD_OUT', 'summary' => '', 'description' => '',
    'priceAmount' => 9007199254740991, 'compareAtAmount' => null, 'currency' => 'EUR', 'url' => '', 'coverUrl' => null, 'publishedAt' => null,
    'createdAt' => '2026-10-01T12:00:30.007Z', 'updatedAt' => '2026-10-01T12:00:30.999Z'];

function same(mixed $want, mixed $got, string $why = ''): void
{
    if ($want !== $got) {
        throw new LogicException("$why: want " . var_export($want, true) . ', got ' . var_export($got, true));
    }
}

/** @param class-string<Throwable> $class */
function throws(string $class, Closure $do): Throwable
{
    try {
        $do();
    } catch (Throwable $thrown) {
        same(true, $thrown instanceof $class, get_class($thrown) . ': ' . $thrown->getMessage());

        return $thrown;
    }
    throw new LogicException("no $class was thrown");
}

/** A transport that records requests and answers each with the same page, which has one product and the total 3. */
final class Pages implements Transport
{
    /** @var list<array{string, ?string}> */
    public array $sent = [];

    public function send(string $method, string $url, array $headers, ?string $body, float $timeout): Response
    {
        $this->sent[] = ["$method $url", $body];
        $answer = $method === 'GET' ? ['page' => 1, 'pageSize' => 1, 'total' => 3, 'data' => [PRODUCT]] : PRODUCT;

        return new Response(200, [], json_encode($answer));
    }
}

$tests = [
    'a list is lazy, ends with the loop, and its keys count on' => static function (): void {
        $shop = new Client('https://x.example', KEY, transport: $pages = new Pages());
        $list = $shop->products->list(pageSize: 1);
        same(0, count($pages->sent));
        foreach ($list as $product) {
            same('SOLD_OUT', $product->status, 'a newer word');
            break;
        }
        same([['GET https://x.example/v1/products?page=1&pageSize=1', null]], $pages->sent);
        same([0, 1, 2], array_keys(iterator_to_array($shop->products->list())));
    },
    'a change has what is named: null, but nothing omitted' => static function (): void {
        $shop = new Client('https://x.example', KEY, transport: $pages = new Pages());
        $shop->products->update('a/b', compareAtAmount: null, title: 'é/"');
        $shop->products->update('1');
        same([['PATCH https://x.example/v1/products/a%2Fb', '{"title":"é/\"","compareAtAmount":null}'], ['PATCH https://x.example/v1/products/1', '{}']], $pages->sent);
        throws(TypeError::class, fn () => $shop->products->update('1', title: null));
        throws(TypeError::class, fn () => $shop->products->update('1', priceAmount: '12'));
        throws(TypeError::class, fn () => $shop->products->update('1', priceAmount: 1.5));
        throws(Error::class, fn () => $shop->products->update('1', pricAmount: 12));
        throws(InvalidArgumentException::class, fn () => $shop->products->update('1', title: "\xff"));
        throws(InvalidArgumentException::class, fn () => $shop->products->get('..'));
    },
    'dates are immutable, in UTC with milliseconds, and sent so' => static function (): void {
        $page = ProductPage::fromArray(['page' => 1, 'pageSize' => 1, 'total' => 1, 'data' => [PRODUCT]]);
        same('2026-10-01T12:00:30.007+00:00', $page->data[0]->createdAt->format(DATE_RFC3339_EXTENDED));
        throws(Error::class, fn () => $page->data[0]->title = 'y');
        same(PRODUCT, json_decode(json_encode($page->data[0]), true));
        $shop = new Client('https://x.example', KEY, transport: $pages = new Pages());
        $shop->orders->page(from: new DateTime('2026-10-01T14:00:30.1239+02:00'));
        same('GET https://x.example/v1/orders?from=2026-10-01T12%3A00%3A30.123Z', $pages->sent[0][0]);
    },
    'an empty object stays an object' => static function (): void {
        $store = ['id' => '', 'name' => '', 'slug' => '', 'url' => '', 'description' => '', 'currency' => 'KWD', 'country' => 'KW', 'supportEmail' => '',
            'phone' => '', 'whatsappPhone' => '', 'socialLinks' => [], 'status' => 'open', 'createdAt' => '2026-10-01T12:00:30.007Z'];
        same(true, str_contains(json_encode(Store::fromArray($store)), '"socialLinks":{}'));
    },
    'only an id must be there, and a value of another type is named' => static function (): void {
        same('Order has no id', throws(UnexpectedValueException::class, fn () => Order::fromArray([]))->getMessage());
        $order = Order::fromArray(['id' => '1']);
        same(['', 0, 0.0, '', null, [], null], [$order->status, $order->amount, $order->platformFeePercent, $order->customer->id,
            $order->customer->email, $order->items, $order->paidAt]);
        same('1970-01-01T00:00:00.000+00:00', $order->createdAt->format(DATE_RFC3339_EXTENDED));
        same('amount of Order is not a whole number',
            throws(UnexpectedValueException::class, fn () => Order::fromArray(['id' => '1', 'amount' => '12']))->getMessage());
    },
    'nothing shows the key' => static function (): void {
        $shop = new Client('http://127.0.0.1:1', KEY, maxRetries: 0);
        $failed = throws(StorefrontException::class, fn () => $shop->store->get());
        ob_start();
        var_dump($shop);
        print_r($shop);
        var_dump((array) $shop->store);
        $shown = ob_get_clean() . json_encode($shop) . $failed . print_r($failed, true) . throws(Throwable::class, fn () => serialize($shop));
        same(false, str_contains($shown, 'secretsecret'));
        same(false, str_contains((string) throws(InvalidArgumentException::class, fn () => new Client('ftp://x', KEY)), 'secretsecret'));
    },
    'two clients share nothing' => static function (): void {
        $one = new Client('https://one.example', KEY, transport: $first = new Pages());
        $two = new Client('https://two.example', KEY, transport: $second = new Pages());
        $one->products->update('1', title: 'x');
        $two->products->page();
        same([1, 1], [count($first->sent), count($second->sent)]);
        foreach ([Connection::class, CurlTransport::class, Webhook::class, Client::class] as $class) {
            same([], (new ReflectionClass($class))->getStaticProperties(), $class);
        }
    },
    'requests of PSR-7 and of Symfony' => static function (): void {
        $body = '{"id":"1","type":"customer.created","createdAt":"2026-11-21T12:00:00.000Z","store":{"id":"2","slug":"demo"},"data":{"id":"3","name":"é 🎉",'
            . '"email":null,"phone":null,"ordersCount":0,"totalPaid":0,"currency":"NGN","createdAt":"2026-11-21T12:00:00.000Z"}}';
        $signature = Webhook::sign($body, SECRET);
        $psr7 = new GuzzleHttp\Psr7\ServerRequest('POST', '/', ['service-signature' => $signature], $body);
        $symfony = Symfony\Component\HttpFoundation\Request::create('/', 'POST', server: ['HTTP_SERVICE_SIGNATURE' => $signature], content: $body);
        foreach ([$psr7, $symfony] as $request) {
            $event = Webhook::readRequest($request, SECRET);
            same(true, $event instanceof CustomerCreatedEvent);
            same('é 🎉', $event->data->name);
        }
        same('changed_body', throws(WebhookException::class, fn () => Webhook::readRequest($psr7->withBody(GuzzleHttp\Psr7\Utils::streamFor("$body\n")), SECRET))->mistake);
        same('no_header', throws(WebhookException::class, fn () => Webhook::readRequest($psr7->withoutHeader('Service-Signature'), SECRET))->mistake);
        same('no_header', throws(WebhookException::class, fn () => Webhook::readRequest(Symfony\Component\HttpFoundation\Request::create('/', 'POST'), SECRET))->mistake);
        throws(InvalidArgumentException::class, fn () => Webhook::readRequest(new stdClass(), SECRET));
        throws(InvalidArgumentException::class, fn () => Webhook::sign($body, ''));
    },
    'a PSR-18 client sends as curl does' => static function (): void {
        $factory = new GuzzleHttp\Psr7\HttpFactory();
        $guzzle = new GuzzleHttp\Client(['timeout' => 30, 'allow_redirects' => false]);
        $shop = new Client(getenv('STOREFRONT_URL'), getenv('STOREFRONT_KEY'), transport: new Psr18Transport($guzzle, $factory, $factory));
        $product = $shop->products->page(pageSize: 1)->data[0];
        same('é 🎉', $shop->products->update($product->id, title: 'é 🎉')->title);
        same('product_not_found', throws(StorefrontException::class, fn () => $shop->products->get('x'))->errorCode);
        $away = new Client('http://127.0.0.1:1', KEY, maxRetries: 0, transport: new Psr18Transport($guzzle, $factory, $factory));
        same('network_error', throws(StorefrontException::class, fn () => $away->store->get())->errorCode);
    },
    'processes that were forked do not read each other\'s answers' => static function (): void {
        if (!function_exists('pcntl_fork')) {
            return; // PHP's pcntl extension is not everywhere
        }
        $shop = new Client(getenv('STOREFRONT_URL'), getenv('STOREFRONT_KEY'), transport: new CurlTransport([CURLOPT_RETURNTRANSFER => true]));
        [$first, $second] = $shop->products->page(pageSize: 2)->data; // this opens the connection that the fork copies
        $child = pcntl_fork();
        $id = $child === 0 ? $first->id : $second->id;
        $wrong = 0;
        for ($i = 0; $i < 20; $i++) {
            try {
                $wrong += $shop->products->get($id)->id === $id ? 0 : 1;
            } catch (StorefrontException) {
                $wrong++;
            }
        }
        if ($child === 0) {
            exit($wrong);
        }
        pcntl_waitpid($child, $status);
        same([0, 0], [$wrong, pcntl_wexitstatus($status)]);
    },
    'a receiver for tests gets deliveries of the service, and tells what it refuses' => static function (): void {
        $receiver = new TestReceiver();
        $operate = static fn (string ...$args): array => json_decode((string) shell_exec(implode(' ', array_map(escapeshellarg(...), [
            getenv('STOREFRONT_BINARY'), ...$args, '--store', 'demo', '--admin-url', getenv('STOREFRONT_ADMIN_URL'), '-o', 'json',
        ]))), true);
        $receiver->secret = $operate('webhook', 'create', '--url', $receiver->url, '--events', 'customer.created')['secret'];
        fclose(stream_socket_client(str_replace('http', 'tcp', $receiver->url))); // as a health check does
        $made = $operate('customer', 'create', '--name', 'é 🎉', '--email', 'awa@example.com');
        $event = $receiver->next(60);
        same(true, $event instanceof CustomerCreatedEvent);
        same($made['id'], $event->data->id);
        same('é 🎉', $event->data->name);
        $receiver->secret = SECRET;
        $operate('trigger', 'customer.created', '--yes');
        same('wrong_secret', throws(WebhookException::class, fn () => $receiver->next(60))->mistake);
        throws(RuntimeException::class, fn () => $receiver->next(0.01));
        $receiver->close();
    },
];
foreach ($tests as $name => $test) {
    try {
        $test();
    } catch (Throwable $failed) {
        fwrite(STDERR, "FAILED: $name\n$failed\n");
        exit(1);
    }
}
echo count($tests), " passed, 0 failed\n";
