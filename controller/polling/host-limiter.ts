import { setTimeout as sleep } from 'node:timers/promises';
import { PriorityTurns } from '../../shared/domain/limits/priority-turns.ts';
import { RateLimit } from '../../shared/domain/limits/rate-limit.ts';
import { Turns } from '../../shared/domain/limits/turns.ts';
import type { Turn } from './git-http.ts';

/** Limits for calls to git servers. */
export interface HostLimits {
  /** Maximum calls that run at a time, over all hosts. */
  total: number;
  /** Maximum of these for one namespace. */
  perNamespace: number;
  /** Maximum calls that run at one host at a time. */
  perHost: number;
  /** Requests that one host gets each second, over time. The same number can begin at once. */
  perSecond: number;
  /** Time limit of a call (ms), one minute by default. */
  timeoutMs?: number;
}

/** A call to a host, such as a query; it is identified by its object. */
export interface HostCall {
  /** Namespace for which the call is made. */
  readonly namespace: string;
  readonly host: string;
  /** Makes the call, and ends when the signal aborts or earlier. Waits for the turn of each request. Must not reject. */
  run(signal: AbortSignal, turn: Turn): Promise<void>;
}

interface Host {
  name: string;
  slots: CallSlots;
  calls: PriorityTurns<HostCall>;
  timer: NodeJS.Timeout | undefined;
}

/** Maximum git processes at a time: their memory has to fit next to the controller's. */
const MAX_GIT_PROCESSES = 2;
/** Limits for queries that the git binary sends, over ssh and git://. */
export const gitLimitsOf = (limits: HostLimits): HostLimits => ({
  ...limits,
  total: Math.min(limits.total, MAX_GIT_PROCESSES),
});
/** Time limit of a call (ms). */
export const CALL_TIMEOUT_MS = 60_000;
/** Maximum hosts whose rates are remembered. */
const MAX_HOSTS = 10_000;

/**
 * Concurrency slots. Half of them are open to all namespaces, and the rest are reserved for namespaces without a
 * running call. So a new namespace waits only if about half as many namespaces as there are slots hold all of them.
 */
export class CallSlots {
  readonly #limit: number;
  readonly #perNamespace: number;
  readonly #taken = new Map<string, number>();
  #total = 0;

  /** `perNamespace` lowers the share of one namespace further. */
  constructor(limit: number, perNamespace = limit) {
    this.#limit = limit;
    this.#perNamespace = perNamespace;
  }

  get isEmpty(): boolean {
    return this.#total === 0;
  }

  hasFor(namespace: string): boolean {
    const own = this.#taken.get(namespace) ?? 0;
    return own < this.#perNamespace && this.#total < (own === 0 ? this.#limit : this.#limit / 2);
  }

  take(namespace: string): void {
    this.#change(namespace, 1);
  }

  release(namespace: string): void {
    this.#change(namespace, -1);
  }

  #change(namespace: string, by: number): void {
    this.#total += by;
    const own = (this.#taken.get(namespace) ?? 0) + by;
    if (own > 0) this.#taken.set(namespace, own);
    else this.#taken.delete(namespace);
  }
}

/**
 * Queues calls and starts them at the pace of each host, so that no namespace holds up another: namespaces take turns at
 * each host, urgent calls first, and each can use a share of all slots.
 */
export class HostLimiter {
  readonly #limits: HostLimits;
  readonly #slots: CallSlots;
  readonly #rate: RateLimit;
  /** Aborts each running call. */
  readonly #running = new Map<HostCall, () => void>();
  readonly #hosts = new Map<string, Host>();
  /** Hosts with calls that only wait for a slot over all hosts. */
  readonly #held = new Turns<Host>();

  constructor(limits: HostLimits) {
    this.#limits = limits;
    this.#slots = new CallSlots(limits.total, limits.perNamespace);
    this.#rate = new RateLimit({ perMinute: limits.perSecond * 60, burst: limits.perSecond, maxKeys: MAX_HOSTS });
  }

  /** Number of hosts with calls that wait or run. */
  get hosts(): number {
    return this.#hosts.size;
  }

  /** Queues a call, or makes one that is queued already urgent. */
  add(call: HostCall, isUrgent: boolean): void {
    const host = this.#host(nameOf(call));
    host.calls.add(call.namespace, call, isUrgent ? 'high' : 'low');
    this.#dispatch(host);
  }

  /** Removes a call from the queue, or aborts it. */
  remove(call: HostCall): void {
    this.#running.get(call)?.();
    const host = this.#hosts.get(nameOf(call));
    if (!host) return;
    host.calls.delete(call);
    this.#dispatch(host);
  }

  #host(name: string): Host {
    const host = this.#hosts.get(name) ?? {
      name,
      slots: new CallSlots(this.#limits.perHost),
      calls: new PriorityTurns(),
      timer: undefined,
    };
    this.#hosts.set(name, host);
    return host;
  }

  /** Starts the calls that can start at a host. */
  #dispatch(host: Host): void {
    let waitMs = this.#waitMs(host);
    while (waitMs === 0) {
      const call = this.#take(host);
      if (!call) break;
      void this.#run(host, call);
      waitMs = this.#waitMs(host);
    }
    this.#schedule(host, waitMs);
  }

  /** Time until a host can get another request (ms). */
  #waitMs({ name }: Host): number {
    return this.#rate.waitMs(name, performance.now());
  }

  async #run(host: Host, call: HostCall): Promise<void> {
    const { namespace } = call;
    this.#rate.count(host.name, performance.now());
    host.slots.take(namespace);
    this.#slots.take(namespace);
    const controller = new AbortController();
    const abort = () => controller.abort(new DOMException('the call took too long', 'TimeoutError'));
    const timer = setTimeout(abort, this.#limits.timeoutMs ?? CALL_TIMEOUT_MS).unref();
    this.#running.set(call, abort);
    await call.run(controller.signal, this.#turnsOf(host, controller.signal));
    if (this.#running.get(call) === abort) this.#running.delete(call); // it may have started again
    clearTimeout(timer);
    host.slots.release(namespace);
    this.#slots.release(namespace);
    this.#dispatchHeld();
    this.#dispatch(host);
  }

  /** The first request of a call is counted when it starts. Each further one is counted, and waits for its time. */
  #turnsOf({ name }: Host, signal: AbortSignal): Turn {
    let isFirst = true;
    return async () => {
      const now = performance.now();
      const waitMs = isFirst ? 0 : this.#rate.waitMs(name, now);
      if (!isFirst) this.#rate.count(name, now);
      isFirst = false;
      if (waitMs > 0) await sleep(Math.ceil(waitMs), undefined, { signal, ref: false });
    };
  }

  /** Starts calls that waited for a slot over all hosts. */
  #dispatchHeld(): void {
    const isFree = (namespace: string) => this.#slots.hasFor(namespace);
    for (let next = this.#held.take(isFree); next; next = this.#held.take(isFree)) this.#dispatch(next.item);
  }

  #take(host: Host): HostCall | undefined {
    const admits = (namespace: string) => {
      if (!host.slots.hasFor(namespace)) return false;
      const isFree = this.#slots.hasFor(namespace);
      if (!isFree) this.#held.add(namespace, host);
      return isFree;
    };
    return host.calls.take(admits)?.item;
  }

  /** Dispatches again when the rate allows the next call. Forgets a host with nothing left to do. */
  #schedule(host: Host, waitMs: number): void {
    clearTimeout(host.timer);
    host.timer = undefined;
    const isWaiting = !host.calls.isEmpty;
    if (!isWaiting && host.slots.isEmpty) {
      this.#hosts.delete(host.name);
      this.#held.delete(host);
    }
    if (!isWaiting || waitMs === 0) return;
    host.timer = setTimeout(() => this.#dispatch(host), Math.ceil(waitMs));
    host.timer.unref(); // the queue doesn't keep the program from exiting
  }
}

/** One name for each host, whatever the spelling: `GitHub.com.` is `github.com`. */
const nameOf = ({ host }: HostCall) => host.toLowerCase().replace(/\.$/, '');
