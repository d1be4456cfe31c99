import { readFile } from 'node:fs/promises';
import { request } from 'node:https';
import { text } from 'node:stream/consumers';

/** Asks an API server with a bearer token and the CA of its certificate; undefined when nobody answers. */
export async function apiRequest(
  url: URL,
  { caFile, token }: { caFile: string; token: string },
): Promise<{ status: number; body: string } | undefined> {
  const ca = await readFile(caFile, 'utf8').catch(() => undefined);
  if (!ca) return undefined;
  return await new Promise((resolve) => {
    const outgoing = request(
      url,
      { ca, headers: { authorization: `Bearer ${token}` }, agent: false, timeout: 2_000 },
      (response) => {
        text(response).then(
          (body) => resolve({ status: response.statusCode ?? 0, body }),
          () => resolve(undefined),
        );
      },
    );
    outgoing.on('timeout', () => outgoing.destroy());
    outgoing.on('error', () => resolve(undefined));
    outgoing.end();
  });
}
