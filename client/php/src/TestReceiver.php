<?php

declare(strict_types=1);

namespace Storefront;

/**
 * A receiver of webhooks for tests: of a program that makes events happen, or of what sends them.
 *
 *     $receiver = new TestReceiver($secret);
 *     // register $receiver->url, or storefront listen --forward-to, and make something happen
 *     $event = $receiver->next();
 *
 * It listens on a free port of this machine alone, and verifies each delivery as Webhook::read does. It answers while
 * next waits, so what posts must be another process than the test, as the service is.
 */
final class TestReceiver
{
    private const MAX_BYTES = 4 << 20;

    /** Where to post deliveries. */
    public readonly string $url;
    /** @var resource */
    private $server;

    /** @param string $secret what deliveries are verified with; it may be set later, as a webhook's is shown once its address is registered */
    public function __construct(#[\SensitiveParameter] public string $secret = '')
    {
        $server = stream_socket_server('tcp://127.0.0.1:0', $code, $message);
        $this->server = $server !== false ? $server : throw new \RuntimeException("listen for webhooks: $message");
        $this->url = 'http://' . stream_socket_get_name($this->server, false);
    }

    /**
     * Returns the next event, in the order in which they arrive.
     *
     * @throws WebhookException for a delivery that is refused
     * @throws \RuntimeException if none arrives in so many seconds
     */
    public function next(float $timeout = 10): Event
    {
        for ($end = microtime(true) + $timeout; ($left = $end - microtime(true)) > 0;) {
            $ready = [$this->server];
            $none = null;
            if (!stream_select($ready, $none, $none, (int) $left, (int) (fmod($left, 1) * 1e6))) {
                continue;
            }
            $connection = stream_socket_accept($this->server);
            if ($connection === false) {
                continue;
            }
            try {
                [$body, $header] = self::receive($connection, $end);
                $event = Webhook::read($body, $header, $this->secret);
                fwrite($connection, "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n");

                return $event;
            } catch (WebhookException $refused) {
                fwrite($connection, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
                throw $refused;
            } catch (\UnexpectedValueException) {
                continue; // what closes before it has sent a request is no delivery
            } finally {
                fclose($connection);
            }
        }
        throw new \RuntimeException("no delivery arrived in $timeout seconds");
    }

    /** Ends the receiver. */
    public function close(): void
    {
        fclose($this->server);
    }

    /**
     * The body of a request, and its signature.
     *
     * @param resource $connection
     * @return array{string, string|null}
     */
    private static function receive($connection, float $end): array
    {
        $request = '';
        for ($size = null; $size === null || \strlen($request) < $size;) {
            stream_set_timeout($connection, (int) max(1, $end - microtime(true)));
            $part = fread($connection, 65536);
            if ($part === false || $part === '' || \strlen($request) > self::MAX_BYTES) {
                throw new \UnexpectedValueException('the request is cut or too large');
            }
            $request .= $part;
            $head = strpos($request, "\r\n\r\n");
            if ($size === null && $head !== false) {
                $size = $head + 4 + (preg_match('/^Content-Length: *(\d+)\r$/mi', substr($request, 0, $head + 2), $found) ? (int) $found[1] : 0);
            }
        }
        [$head, $body] = explode("\r\n\r\n", $request, 2);

        return [$body, preg_match('/^' . Webhook::SIGNATURE_HEADER . ': *(.*?)\r$/mi', "$head\r\n", $found) ? $found[1] : null];
    }
}
