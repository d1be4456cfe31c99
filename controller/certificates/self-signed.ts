import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { TlsFiles } from '../../shared/io/http/listen.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { bundleOf, renewCertificates } from './renew-certificates.ts';
import { publishCaBundle, readWebhookTrust } from './webhook-configuration.ts';
import { ensureWebhookSecret } from './webhook-secret.ts';

export interface SelfSignedOptions {
  client: KubernetesClient;
  /** Name of the MutatingWebhookConfiguration. */
  webhook: string;
  /** Namespace of the Secret. */
  namespace: string;
  /** Directory for the files that the server reads. */
  directory: string;
  /** Milliseconds since 1970; for tests. */
  now?: () => number;
}

/** Time for the API servers to load a bundle before a certificate that needs it is served, or pods arrive (ms). */
const LOADING_MS = 2_000;

/**
 * Makes sure that a valid certificate is in the Secret, that the API server trusts its CA, and that both are in files.
 * Safe to call repeatedly, and from several replicas at the same time.
 */
export async function ensureSelfSigned(options: SelfSignedOptions): Promise<TlsFiles> {
  const { client, webhook, namespace, directory, now = Date.now } = options;
  const { hosts, published } = await readWebhookTrust(client, webhook);
  const name = `${webhook}-certificate`;
  const secret = await ensureWebhookSecret(client, { namespace, name }, (current) =>
    renewCertificates(current, { hosts, published, now: now() }),
  );
  const isPublished = await publishCaBundle(client, webhook, bundleOf(secret));
  const files = { certFile: join(directory, 'tls.crt'), keyFile: join(directory, 'tls.key') };
  const served = await readIfThere(files.certFile);
  // Until then, pods would be refused, or start without a sidecar, so the replica isn't ready.
  if (isPublished || (served !== undefined && served !== secret['tls.crt'])) await sleep(LOADING_MS);
  await replaceFile(files.keyFile, secret['tls.key']);
  await replaceFile(files.certFile, secret['tls.crt']);
  return files;
}

async function replaceFile(path: string, content: string): Promise<void> {
  if ((await readIfThere(path)) === content) return;
  await writeFile(`${path}.new`, content, { mode: 0o600 });
  await rename(`${path}.new`, path);
}

function readIfThere(path: string): Promise<string | undefined> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
}
