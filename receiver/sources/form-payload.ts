import type { DeliveryHeaders } from './delivery.ts';

const formType = /^application\/x-www-form-urlencoded *(?:;|$)/i;

/** Whether the headers are those of a form delivery, the default of GitHub's webhooks; `payload` has the JSON. */
export function isGitHubForm(headers: DeliveryHeaders): boolean {
  return Boolean(headers['x-github-event']) && formType.test(headers['content-type'] ?? '');
}

/**
 * The bytes of the field `payload` of a form; undefined if the form has none, or its encoding is invalid. Other fields
 * aren't decoded.
 * https://docs.github.com/en/webhooks/using-webhooks/creating-webhooks#creating-webhooks
 */
export function payloadOfForm(form: Buffer): Buffer | undefined {
  const [, value] = /(?:^|&)payload=([^&]*)/.exec(form.toString('latin1')) ?? [];
  if (value === undefined) return undefined;
  try {
    return Buffer.from(decodeURIComponent(value.replaceAll('+', ' ')));
  } catch {
    return undefined;
  }
}
