import type { DeliveryHeaders } from './delivery.ts';

const formType = /^application\/x-www-form-urlencoded *(?:;|$)/i;

/** Event headers of git servers that can send a form. It is the default of GitHub. */
const eventHeaders = ['x-github-event', 'x-gitea-event', 'x-forgejo-event', 'x-gogs-event'];

/** Checks whether the headers are those of a form by a git server, whose field `payload` has the JSON. */
export function isForm(headers: DeliveryHeaders): boolean {
  return formType.test(headers['content-type'] ?? '') && eventHeaders.some((name) => headers[name]);
}

const FIELD = 'payload=';
const PERCENT = 0x25;
const AMPERSAND = 0x26;
const PLUS = 0x2b;
const BLANK = 0x20;
const QUOTE = 0x22;
const CHUNK_BYTES = 16 * 1024;

/**
 * The bytes of the first field `payload` of a form; undefined if the form has none, or its encoding is invalid. Other
 * fields aren't decoded.
 * https://docs.github.com/en/webhooks/using-webhooks/creating-webhooks#creating-webhooks
 */
export function payloadOfForm(form: Buffer): Buffer | undefined {
  const chunks: Buffer[] = [];
  return decodePayload(form, (chunk) => chunks.push(Buffer.from(chunk))) ? Buffer.concat(chunks) : undefined;
}

/**
 * Decodes the payload in chunks, each of which is valid only during the call, so that the forms of unauthenticated clients
 * need no further memory. Returns whether the form has a payload, and its encoding is valid.
 */
export function decodePayload(form: Buffer, use: (chunk: Buffer) => void): boolean {
  const value = encodedPayload(form);
  if (!value) return false;
  const chunk = Buffer.allocUnsafe(CHUNK_BYTES);
  let length = 0;
  for (let at = 0; at < value.length; at += 1) {
    let byte = value[at] as number;
    if (byte === PLUS) byte = BLANK;
    if (byte === PERCENT) {
      byte = hexDigit(value[at + 1]) * 16 + hexDigit(value[at + 2]);
      if (Number.isNaN(byte)) return false;
      at += 2;
    }
    chunk[length] = byte;
    length += 1;
    if (length === CHUNK_BYTES) {
      use(chunk);
      length = 0;
    }
  }
  use(chunk.subarray(0, length));
  return true;
}

/**
 * Undefined behind a quote, which every form encodes. Otherwise, signed JSON could be sent as a form, because signatures
 * don't cover headers, and the text of a commit message in it, such as `&payload=…`, would be the delivery.
 */
function encodedPayload(form: Buffer): Buffer | undefined {
  let start = form.indexOf(FIELD);
  while (start > 0 && form[start - 1] !== AMPERSAND) start = form.indexOf(FIELD, start + 1);
  if (start < 0 || form.subarray(0, start).includes(QUOTE)) return undefined;
  const end = form.indexOf(AMPERSAND, start);
  return form.subarray(start + FIELD.length, end < 0 ? form.length : end);
}

function hexDigit(code = 0): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  const letter = code | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x61 + 10 : Number.NaN;
}
