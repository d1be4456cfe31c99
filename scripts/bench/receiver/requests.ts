import { createHmac } from 'node:crypto';

export const SECRET = 'a-secret-of-the-benchmark';

/** Bytes of a body, as those of a small release. */
const BODY_BYTES = 1024;

/** A signed delivery that asks for its own ref; with another secret its signature is wrong. */
export function delivery(path: string, n: number, secret = SECRET): Buffer {
  const body = JSON.stringify({ ref: `v${n}`, padding: '' });
  const padded = `${body.slice(0, -2)}${'x'.repeat(BODY_BYTES - body.length)}"}`;
  const signature = createHmac('sha256', secret).update(padded).digest('hex');
  return post('POST', path, ['Content-Type: application/json', `X-Hub-Signature-256: sha256=${signature}`], padded);
}

/** Headers of a patch, without those that authenticate. */
export const PATCH_HEADERS = {
  'Content-Type': 'application/merge-patch+json',
  Accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1',
};

/** The annotations that a delivery leads to. */
export function requestAnnotations(ref: string, n: number): Record<string, string> {
  return {
    'sync.io/requested-ref': ref,
    'sync.io/requested-at': new Date().toISOString(),
    'sync.io/requested-by': 'generic',
    'sync.io/request-id': `00000000-0000-0000-0000-${String(n).padStart(12, '0')}`,
  };
}

/** What a receiver without any merging would send to the API server for the same delivery. */
export function directPatch(path: string, n: number, token: string): Buffer {
  const headers = Object.entries({ ...PATCH_HEADERS, Authorization: `Bearer ${token}` });
  const body = JSON.stringify({ metadata: { annotations: requestAnnotations(`v${n}`, n) } });
  const lines = headers.map(([name, value]) => `${name}: ${value}`);
  return post('PATCH', `${path}?fieldManager=sync-receiver`, lines, body);
}

function post(method: string, path: string, headers: string[], body: string): Buffer {
  const length = `Content-Length: ${Buffer.byteLength(body)}`;
  return Buffer.from([`${method} ${path} HTTP/1.1`, 'Host: bench', ...headers, length, '', body].join('\r\n'));
}
