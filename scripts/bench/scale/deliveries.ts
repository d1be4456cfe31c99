import { createHmac, randomUUID } from 'node:crypto';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import { type Program, SECRET } from './programs.ts';
import type { Resource } from './world.ts';

export type Kind = 'push' | 'release';

/** A delivery and what became of it; times in milliseconds of the monotonic clock. */
export interface Delivery {
  key: string;
  kind: Kind;
  sentAt: number;
  /** By the clock of this machine, as the receiver stamps. */
  wallAt: number;
  answeredAt?: number;
  status?: number;
  requestId?: string;
  /** When the watch showed a status that answers it, or a newer one. */
  handledAt?: number;
}

/** Sends signed deliveries, to the receivers in turn, and notes when each is answered and handled. */
export class Deliveries {
  readonly all: Delivery[] = [];
  readonly #receivers: Program[];
  readonly #open = new Map<string, Set<Delivery>>();

  constructor(receivers: Program[]) {
    this.#receivers = receivers;
  }

  /** Deliveries that were answered 202 and that no status answers yet. */
  get unhandled(): Delivery[] {
    return this.all.filter(({ status, handledAt }) => status === 202 && handledAt === undefined);
  }

  async push(resource: Resource): Promise<Delivery> {
    return await this.#send(resource, 'push', { ref: 'refs/heads/main', deleted: false });
  }

  async release(resource: Resource, tag: string): Promise<Delivery> {
    return await this.#send(resource, 'release', { action: 'published', release: { tag_name: tag } });
  }

  /** A watch brought the resource. */
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
    const receiver = this.#receivers[this.all.length % this.#receivers.length] as Program;
    const body = JSON.stringify({ ...payload, repository: { clone_url: repository.url } });
    const headers = {
      'Content-Type': 'application/json',
      'X-GitHub-Event': kind,
      'X-GitHub-Delivery': randomUUID(),
      'X-Hub-Signature-256': `sha256=${createHmac('sha256', SECRET).update(body).digest('hex')}`,
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

/** Whether a status says what became of a delivery, or of a newer one of its kind. */
export function isHandled(
  { kind, wallAt, requestId }: Pick<Delivery, 'kind' | 'wallAt' | 'requestId'>,
  status: GatewaySync['status'],
): boolean {
  const echo = kind === 'push' ? status?.lastPush : status?.lastRequest;
  if (!echo || echo.outcome === 'Pending') return false;
  const isSame = requestId !== undefined && 'id' in echo && echo.id === requestId;
  return isSame || Date.parse(echo.at ?? '') >= wallAt;
}
