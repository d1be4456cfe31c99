import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Moment } from '../../cli/terminal/timeline.ts';
import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { Reflector } from '../../shared/io/kubernetes/reflector.ts';
import { gatewaySyncPath } from '../../shared/io/kubernetes/resource-path.ts';
import { createLogger } from '../../shared/log.ts';
import { signDelivery } from '../testbed/sign-delivery.ts';

/** A GatewaySync as it changes, with the time at which each change was seen. */
export class GatewaySyncFollower {
  #latest: GatewaySync | undefined;
  readonly #waiting = new Set<(gatewaySync: GatewaySync) => void>();

  /** Follows the only GatewaySync of a namespace until the signal aborts. */
  async run(client: KubernetesClient, namespace: string, signal: AbortSignal): Promise<void> {
    const reflector = new Reflector<GatewaySync, GatewaySync>({
      client,
      path: gatewaySyncPath(namespace),
      project: (object) => object,
      onChange: (change) => change.type === 'upserted' && this.#take(change.object),
      log: createLogger('demo', { level: 'silent' }),
    });
    await reflector.run(signal);
  }

  #take(gatewaySync: GatewaySync): void {
    this.#latest = gatewaySync;
    for (const notify of this.#waiting) notify(gatewaySync);
  }

  /** Calls back with the current resource, and whenever it changes; returns a function that ends this. */
  listen(take: (gatewaySync: GatewaySync) => void): () => void {
    this.#waiting.add(take);
    if (this.#latest) take(this.#latest);
    return () => this.#waiting.delete(take);
  }

  /** Resolves with the time (performance.now) at which the resource was first accepted. */
  async until(describe: string, accept: (gatewaySync: GatewaySync) => boolean, timeoutMs = 30_000): Promise<number> {
    const found = Promise.withResolvers<number>();
    const timer = setTimeout(() => found.reject(new Error(`${describe}: not within ${timeoutMs / 1000} s`)), timeoutMs);
    const end = this.listen((gatewaySync) => {
      if (accept(gatewaySync)) found.resolve(performance.now());
    });
    try {
      return await found.promise;
    } finally {
      clearTimeout(timer);
      end();
    }
  }
}

/** A commit in progress to the gateway's disk. */
interface Delivery {
  commit: string;
  /** The file that it changes, and its content afterwards. */
  file: { path: string; content: string };
}

/** Follows a commit until it is resolved, on disk, and the resource is ready. */
export async function watchDelivery(
  follower: GatewaySyncFollower,
  { commit, file }: Delivery,
  startedAt: number,
): Promise<Moment[]> {
  const resolved = follower.until('resolved', ({ status }) => status?.lastSyncCommit === commit);
  const ready = follower.until('Ready', (resource) => resource.status?.lastSyncCommit === commit && isReady(resource));
  const onDisk = untilFile(file.path, file.content);
  const [resolvedAt, diskAt, readyAt] = await Promise.all([resolved, onDisk, ready]);
  return [
    { what: 'the controller resolved the commit', atMs: resolvedAt - startedAt },
    { what: "the file is on the gateway's disk", atMs: diskAt - startedAt },
    { what: 'the GatewaySync is Ready', atMs: readyAt - startedAt },
  ];
}

/** Sends a signed push event like GitHub; returns the time of the response. Throws an error if the push isn't stored. */
export async function postPush(url: string, secret: string, branch: string): Promise<number> {
  const body = JSON.stringify({ ref: `refs/heads/${branch}`, deleted: false });
  const signature = signDelivery(body, secret);
  const headers = { 'Content-Type': 'application/json', 'X-GitHub-Event': 'push', 'X-Hub-Signature-256': signature };
  const response = await fetch(url, { method: 'POST', headers, body });
  const at = performance.now();
  const text = await response.text();
  if (response.status !== 202) throw new Error(`the receiver responded ${response.status}: ${text}`);
  return at;
}

async function untilFile(path: string, content: string, timeoutMs = 30_000): Promise<number> {
  for (const deadline = performance.now() + timeoutMs; performance.now() < deadline; await sleep(2)) {
    const current = await readFile(path, 'utf8').catch(() => undefined);
    if (current === content) return performance.now();
  }
  throw new Error(`${path} did not get its new content within ${timeoutMs / 1000} s`);
}

/** Returns whether the condition Ready is True. */
function isReady({ status }: GatewaySync): boolean {
  return status?.conditions?.some(({ type, status: state }) => type === 'Ready' && state === 'True') ?? false;
}
