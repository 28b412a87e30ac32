// A receiver of webhooks in Next.js: the route handler app/webhooks/route.ts.
import { signatureHeader, verifyWebhook, WebhookVerificationError } from "storefront-client";

export async function POST(request: Request): Promise<Response> {
  try {
    const event = await verifyWebhook(await request.arrayBuffer(), request.headers.get(signatureHeader), process.env.WEBHOOK_SECRET!);
    if (event.type === "customer.created") {
      console.log("new:", event.data.name, event.data.phone);
    }
    return new Response(null, { status: 204 });
  } catch (error) {
    if (!(error instanceof WebhookVerificationError)) {
      throw error;
    }
    console.log(error.message); // says why, for example that the secret is wrong
    return new Response(null, { status: 400 });
  }
}
