import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Moment } from '../../cli/terminal/timeline.ts';
import { signDelivery } from '../testbed/sign-delivery.ts';
import { type GatewaySyncFollower, isReady } from './follow-gateway-sync.ts';

/** A commit in progress to the gateway's disk. */
export interface Delivery {
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
