// Typed calls over every protocol, from the package as it is published.
import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { apiKey, Product_Status, ProductService, serviceError } from "storefront-client/connect";

const baseUrl = process.env.STOREFRONT_URL!;
const interceptors = [apiKey(process.env.STOREFRONT_KEY!)];
const transports: Record<string, Transport> = {
  Connect: createConnectTransport({ baseUrl, httpVersion: "1.1", interceptors }),
  "gRPC-Web": createGrpcWebTransport({ baseUrl, httpVersion: "1.1", interceptors }),
  gRPC: createGrpcTransport({ baseUrl, interceptors }),
};
for (const [protocol, transport] of Object.entries(transports)) {
  const products = createClient(ProductService, transport);
  const { total, data } = await products.listProducts({ pageSize: 100 });
  const draft = data.find(({ status }) => status === Product_Status.DRAFT)!;
  try {
    await products.updateProduct({ id: draft.id, status: Product_Status.PUBLISHED });
  } catch (error) {
    const refused = serviceError(error);
    const same = error instanceof ConnectError && error.code === Code.FailedPrecondition;
    console.log(protocol, total, refused?.statusCode, refused?.code, refused?.details?.missing, same);
  }
}
