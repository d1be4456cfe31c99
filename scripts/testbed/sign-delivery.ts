import { createHmac } from 'node:crypto';

/** Returns the `X-Hub-Signature-256` header of a delivery, as GitHub computes it: the HMAC-SHA-256 of the body. */
export const signDelivery = (body: string | Buffer, secret: string): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

/** Returns the headers of a delivery from GitHub. */
export const headersOf = (event: string, body: string, secret: string) => ({
  'Content-Type': 'application/json',
  'X-GitHub-Event': event,
  'X-Hub-Signature-256': signDelivery(body, secret),
});
