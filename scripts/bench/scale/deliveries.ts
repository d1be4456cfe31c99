import { randomUUID } from 'node:crypto';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { signDelivery } from '../../testbed/sign-delivery.ts';
import { SECRET } from '../support/world.ts';
import type { Replica } from './programs.ts';
import type { Resource } from './world.ts';

export type Kind = 'push' | 'release';

/** A delivery with its response; times are from `performance.now()`. */
export interface Delivery {
  key: string;
  kind: Kind;
  sentAt: number;
  /** The same moment by the clock of this machine, which the receiver uses for its timestamps. */
  wallAt: number;
  answeredAt?: number;
  status?: number;
  requestId?: string;
  /** Time at which a status was seen that handles it or a newer one. */
  handledAt?: number;
}

/** Sends signed deliveries to the receivers in turn, and records when each is accepted and handled. */
export class Deliveries {
  readonly all: Delivery[] = [];
  readonly #receivers: Replica[];
  readonly #open = new Map<string, Set<Delivery>>();

  constructor(receivers: Replica[]) {
    this.#receivers = receivers;
  }

  /** Deliveries that were accepted (202) and that no status has handled yet. */
  get unhandled(): Delivery[] {
    return this.all.filter(({ status, handledAt }) => status === 202 && handledAt === undefined);
  }

  async push(resource: Resource): Promise<Delivery> {
    return await this.#send(resource, 'push', { ref: 'refs/heads/main', deleted: false });
  }

  async release(resource: Resource, tag: string): Promise<Delivery> {
    return await this.#send(resource, 'release', { action: 'published', release: { tag_name: tag } });
  }

  /** Marks the deliveries that a version of the resource handles. */
  onResource({ metadata: { namespace, name }, status }: GatewaySync): void {
    const open = this.#open.get(`${namespace}/${name}`);
    if (!open) return;
    for (const delivery of open) {
      if (!isHandled(delivery, status)) continue;
      delivery.handledAt = performance.now();
      open.delete(delivery);
    }
  }

  async #send({ namespace, name, key, repository }: Resource, kind: Kind, payload: object): Promise<Delivery> {
    const receiver = this.#receivers[this.all.length % this.#receivers.length] as Replica;
    const body = JSON.stringify({ ...payload, repository: { clone_url: repository.url } });
    const headers = {
      'Content-Type': 'application/json',
      'X-GitHub-Event': kind,
      'X-GitHub-Delivery': randomUUID(),
      'X-Hub-Signature-256': signDelivery(body, SECRET),
    };
    const delivery: Delivery = { key, kind, sentAt: performance.now(), wallAt: Date.now() };
    this.all.push(delivery);
    const open = this.#open.get(key) ?? new Set();
    this.#open.set(key, open.add(delivery));
    const url = `http://127.0.0.1:${receiver.port}/webhook/${namespace}/${name}`;
    const response = await fetch(url, { method: 'POST', headers, body }).catch(() => undefined);
    const answer = (await response?.json().catch(() => undefined)) as { requestId?: string } | undefined;
    delivery.answeredAt = performance.now();
    delivery.status = response?.status ?? 0;
    if (answer?.requestId) delivery.requestId = answer.requestId;
    return delivery;
  }
}

/** Returns whether a status handles a delivery, or a newer one of its kind. */
export function isHandled(
  { kind, wallAt, requestId }: Pick<Delivery, 'kind' | 'wallAt' | 'requestId'>,
  status: GatewaySync['status'],
): boolean {
  const echo = kind === 'push' ? status?.lastPush : status?.lastRequest;
  if (!echo || echo.outcome === 'Pending') return false;
  const isSame = requestId !== undefined && 'id' in echo && echo.id === requestId;
  return isSame || Date.parse(echo.at ?? '') >= wallAt;
}
