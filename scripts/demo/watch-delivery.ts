import { readFile } from 'node:fs/promises';
import type { Moment } from '../../cli/terminal/timeline.ts';
import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { headersOf } from '../testbed/sign-delivery.ts';
import { until } from '../testbed/until.ts';

/** A commit in progress to the gateway's disk. */
interface Delivery {
  /** Returns the GatewaySync as it is now. */
  resource: () => GatewaySync | undefined;
  commit: string;
  /** The file that it changes, and its content afterwards. */
  file: { path: string; content: string };
}

/** Follows a commit until it is resolved, on disk, and the resource is ready. */
export async function watchDelivery({ resource, commit, file }: Delivery, startedAt: number): Promise<Moment[]> {
  const isResolved = () => resource()?.status?.lastSyncCommit === commit;
  const isOnDisk = async () => (await readFile(file.path, 'utf8').catch(() => '')) === file.content;
  const [resolvedAt, diskAt, readyAt] = await Promise.all([
    until('resolved', isResolved),
    until(`the new content of ${file.path}`, isOnDisk),
    until('Ready', () => isResolved() && isReady(resource())),
  ]);
  return [
    { what: 'the controller resolved the commit', atMs: resolvedAt - startedAt },
    { what: "the file is on the gateway's disk", atMs: diskAt - startedAt },
    { what: 'the GatewaySync is Ready', atMs: readyAt - startedAt },
  ];
}

/** Sends a signed push event like GitHub; returns the time of the response. Throws an error if the push isn't stored. */
export async function postPush(url: string, secret: string, branch: string): Promise<number> {
  const body = JSON.stringify({ ref: `refs/heads/${branch}`, deleted: false });
  const response = await fetch(url, { method: 'POST', headers: headersOf('push', body, secret), body });
  const at = performance.now();
  const text = await response.text();
  if (response.status !== 202) throw new Error(`the receiver responded ${response.status}: ${text}`);
  return at;
}

/** Returns whether the condition Ready is True. */
const isReady = (resource: GatewaySync | undefined): boolean =>
  resource?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false;
