import { createHmac, timingSafeEqual } from 'node:crypto';
import { SECRET } from './requests.ts';

/** Whether a header holds the signature of a body by the secret of the benchmark. */
export function isSigned(body: Buffer, header: string | string[] | undefined): boolean {
  const given = Buffer.from(String(header ?? '').slice('sha256='.length), 'hex');
  const expected = createHmac('sha256', SECRET).update(body).digest();
  return given.length === expected.length && timingSafeEqual(given, expected);
}
