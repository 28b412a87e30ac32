// This program calls the API with openapi-fetch and the types that openapi-typescript generates. It prints the titles of all
// products, page by page, and then the error code for an unknown product.
import createClient from "openapi-fetch";
import type { components, paths } from "./api.js";

type Product = components["schemas"]["Product"];

const { STOREFRONT_URL: baseUrl = "", STOREFRONT_KEY: key = "" } = process.env;
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${key}` } });

async function* products(): AsyncGenerator<Product> {
  for (let page = 1; ; page++) {
    const { data, error } = await client.GET("/v1/products", { params: { query: { page, pageSize: 5 } } });
    if (error !== undefined) {
      throw new Error(`${error.code}: ${error.message}`);
    }
    yield* data.data;
    if (data.page * data.pageSize >= data.total) {
      return;
    }
  }
}

// A request accepts only the statuses that the document lists.
type Asked = NonNullable<NonNullable<paths["/v1/products"]["get"]["parameters"]["query"]>["status"]>;
const asked: Asked[] = ["DRAFT", "PUBLISHED", "ARCHIVED"];
// @ts-expect-error a status that does not exist
asked.push("PUBLISHD");

for await (const product of products()) {
  // These lines compile only if the document has these types: an integer, an integer or null, and a text for a status, because
  // later versions may add statuses.
  const price: number = product.priceAmount;
  const before: number | null = product.compareAtAmount;
  const status: string = product.status;
  console.log(`${product.title} ${price} ${before} ${status}`);
}

const { error } = await client.GET("/v1/products/{id}", { params: { path: { id: "0195e000-0000-7000-8000-000000000000" } } });
console.log(error?.code);
