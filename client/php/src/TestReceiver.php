<?php

declare(strict_types=1);

namespace Storefront;

/**
 * A receiver of webhooks, for tests of code that causes events.
 *
 *     $receiver = new TestReceiver($secret);
 *     // register $receiver->url, or storefront listen --forward-to, and make something happen
 *     $event = $receiver->next();
 *
 * It listens on a free port of 127.0.0.1, and verifies each delivery as Webhook::read does. It answers deliveries only
 * while the test waits in next(), so another process must post them.
 */
final class TestReceiver
{
    private const MAX_BYTES = 4 << 20;

    /** The address to which deliveries are posted. */
    public readonly string $url;
    /** @var resource */
    private $server;

    /** @param string $secret the webhook's secret; you can set it later, because a webhook gets it when you register the url */
    public function __construct(#[\SensitiveParameter] public string $secret = '')
    {
        $server = stream_socket_server('tcp://127.0.0.1:0', $code, $message);
        $this->server = $server !== false ? $server : throw new \RuntimeException("listen for webhooks: $message");
        $this->url = 'http://' . stream_socket_get_name($this->server, false);
    }

    /**
     * Returns the next event that arrives, and waits for it up to $timeout seconds.
     *
     * @throws WebhookException if the delivery is refused
     * @throws \RuntimeException if no delivery arrives in time
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
                continue; // the client closed the connection without a whole request
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
     * Reads a request and returns its body and its signature.
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
