// A receiver of webhooks in Next.js: the route handler app/webhooks/route.ts.
import { after } from "next/server";
import { signatureHeader, verifyWebhook, type StorefrontEvent } from "storefront-client";

const stored: StorefrontEvent[] = []; // stands for a table of your database, which outlives the program
const shipped = new Set<string>(); // stands for a table whose key is the order's id

export async function POST(request: Request): Promise<Response> {
  try {
    stored.push(await verifyWebhook(await request.arrayBuffer(), request.headers.get(signatureHeader), process.env.WEBHOOK_SECRET!));
  } catch (error) {
    console.log((error as Error).message); // says why
    return new Response(null, { status: 400 });
  }
  after(work); // the event is stored: answer 2xx, then work
  return new Response(null, { status: 204 });
}

/** Handles the stored events, and each order once: two events report the payment of a link, and any event may come again. */
function work(): void {
  while (stored.length > 0) {
    const event = stored.shift()!;
    if (event.type === "order.paid" || event.type === "payment_link.paid") {
      const order = event.data;
      if (!shipped.has(order.id)) {
        shipped.add(order.id);
        console.log("paid:", order.reference, order.amount, order.currency);
      }
    } else if (event.type === "customer.created") {
      console.log("new:", event.data.name, event.data.phone);
    }
  }
}
