// Tests storefront-client/connect with the Node transports of @connectrpc/connect-node, in each protocol that they have.
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { create, fromJson, type JsonValue } from "@bufbuild/protobuf";
import { FieldMaskSchema, timestampDate } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createClient, type Client, type Interceptor, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";

import { apiKey, CustomerService, ListProductsResponseSchema, Product_Status, ProductService, serviceError, Store_Status, StoreService, type Product } from "../src/connect.js";
import { setting } from "./setting.js";

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

const baseUrl = setting("STOREFRONT_URL");
const key = setting("STOREFRONT_KEY");

type Protocol = (interceptors: Interceptor[]) => Transport;

const protocols: Record<string, Protocol> = {
  "Connect with JSON": (interceptors) =>
    createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: false, interceptors }),
  "Connect with binary messages": (interceptors) =>
    createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: true, interceptors }),
  "Connect with GET": (interceptors) =>
    createConnectTransport({ baseUrl, httpVersion: "1.1", useHttpGet: true, interceptors }),
  "gRPC without TLS": (interceptors) => createGrpcTransport({ baseUrl, interceptors }),
  "gRPC-Web": (interceptors) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1", interceptors }),
};

async function firstProduct(products: Client<typeof ProductService>): Promise<Product> {
  const { data } = await products.listProducts({ pageSize: 1 });
  const [product] = data;
  assert.ok(product, "the store has a product");
  return product;
}

async function refusal(call: Promise<unknown>): Promise<ConnectError> {
  const error = await call.then(
    () => assert.fail("the call was not refused"),
    (reason: unknown) => reason,
  );
  assert.ok(error instanceof ConnectError, String(error));
  return error;
}

for (const [name, protocol] of Object.entries(protocols)) {
  // One test after the other, because they change the same product.
  describe(name, { concurrency: 1 }, () => {
    const transport = protocol([apiKey(key)]);
    const products = createClient(ProductService, transport);

    it("retrieves the store that the key belongs to", async () => {
      const store = await createClient(StoreService, transport).getStore({});
      assert.match(store.id, uuid);
      assert.equal(store.status, Store_Status.open);
      assert.match(store.currency, /^[A-Z]{3}$/);
    });

    it("lists products a page at a time, newest first, until the total is reached", async () => {
      const pageSize = 5;
      const seen: Product[] = [];
      for (let page = 1n; ; page++) {
        const list = await products.listProducts({ page, pageSize });
        assert.equal(list.page, page);
        assert.equal(list.pageSize, pageSize);
        seen.push(...list.data);
        if (page * BigInt(pageSize) >= list.total) {
          assert.equal(BigInt(seen.length), list.total);
          break;
        }
      }
      assert.equal(new Set(seen.map((product) => product.id)).size, seen.length, "no product twice");
      const times = seen.map((product) => {
        assert.ok(product.createdAt);
        return timestampDate(product.createdAt).getTime();
      });
      assert.deepEqual(times, times.toSorted((a, b) => b - a));
    });

    it("filters by status", async () => {
      const { data } = await products.listProducts({ status: Product_Status.DRAFT });
      assert.ok(data.length > 0, "the store has a draft");
      for (const product of data) {
        assert.equal(product.status, Product_Status.DRAFT);
      }
    });

    it("updates a product and reads the change back", async () => {
      const { id, priceAmount } = await firstProduct(products);
      const title = `Renamed over ${name}`;
      const updated = await products.updateProduct({ id, title, compareAtAmount: priceAmount + 500n });
      assert.equal(updated.title, title);
      assert.equal(updated.compareAtAmount, priceAmount + 500n);
      assert.equal(updated.priceAmount, priceAmount, "a field that was not named stays");
      assert.deepEqual(await products.getProduct({ id }), updated);
    });

    it("clears a field that the mask names without a value", async () => {
      const { id, title } = await firstProduct(products);
      const updateMask = create(FieldMaskSchema, { paths: ["compare_at_amount"] });
      const updated = await products.updateProduct({ id, updateMask });
      assert.equal(updated.compareAtAmount, undefined);
      assert.equal(updated.title, title);
    });

    it("is told every refused field by a typed detail", async () => {
      const { id } = await firstProduct(products);
      const error = await refusal(products.updateProduct({ id, title: "", priceAmount: -1n }));
      assert.equal(error.code, Code.InvalidArgument);
      const detail = serviceError(error);
      assert.ok(detail);
      assert.equal(detail.statusCode, 400);
      assert.equal(detail.code, "validation_failed");
      assert.match(detail.requestId, uuid);
      assert.deepEqual(detail.details?.fields.map(({ field }) => field).sort(), ["priceAmount", "title"]);
      for (const { message } of detail.details?.fields ?? []) {
        assert.notEqual(message, "");
      }
    });

    it("branches on the code of a resource that is not there", async () => {
      const customers = createClient(CustomerService, transport);
      const error = await refusal(customers.getCustomer({ id: "00000000-0000-4000-8000-000000000000" }));
      assert.equal(error.code, Code.NotFound);
      assert.equal(serviceError(error)?.code, "customer_not_found");
    });

    it("is refused without a key", async () => {
      const error = await refusal(createClient(StoreService, protocol([])).getStore({}));
      assert.equal(error.code, Code.Unauthenticated);
      assert.equal(serviceError(error)?.code, "api_key_missing");
    });

    it("reads what is left of the minute from the headers", async () => {
      let remaining: string | null = null;
      await products.listProducts({ pageSize: 1 }, { onHeader: (headers) => (remaining = headers.get("X-RateLimit-Remaining")) });
      assert.match(String(remaining), /^\d+$/);
    });
  });
}

it("reads what /v1 answers as the same messages", async () => {
  const products = createClient(ProductService, createConnectTransport({ baseUrl, httpVersion: "1.1", interceptors: [apiKey(key)] }));
  const response = await fetch(`${baseUrl}/v1/products?pageSize=100`, { headers: { Authorization: `Bearer ${key}` } });
  assert.equal(response.status, 200);
  const body = (await response.json()) as JsonValue;
  assert.deepEqual(fromJson(ListProductsResponseSchema, body), await products.listProducts({ pageSize: 100 }));
});

it("refuses a text that is no key, and an address that would show one", async () => {
  assert.throws(() => apiKey(`${key}\n`), (error) => error instanceof TypeError && /white space/.test(error.message) && !error.message.includes(key));
  const readable = createConnectTransport({ baseUrl: "http://127.0.0.1.example.com", httpVersion: "1.1", interceptors: [apiKey(key)] });
  await assert.rejects(createClient(StoreService, readable).getStore({}), (error) => error instanceof TypeError && /allowHttp/.test(error.message));
  assert.equal(serviceError(new ConnectError("no answer")), undefined);
  assert.equal(serviceError("no error"), undefined);
});
