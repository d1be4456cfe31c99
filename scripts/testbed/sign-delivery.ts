import { createHmac } from 'node:crypto';

/** Returns the `X-Hub-Signature-256` header of a delivery, as GitHub computes it: the HMAC-SHA-256 of the body. */
export const signDelivery = (body: string | Buffer, secret: string): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;
