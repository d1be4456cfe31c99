import { Turns } from '../../shared/domain/turns.ts';
import { Places } from './places.ts';

/** Limits for calls to git hosts. */
export interface HostLimits {
  /** Maximum calls that run at a time, over all hosts. */
  total: number;
  /** Maximum of these for one namespace. */
  perNamespace: number;
  /** Maximum calls that run at one host at a time. */
  perHost: number;
  /** Requests that one host gets each second, over time. The same number can begin at once. */
  perSecond: number;
}

/** A call to a host, such as a query; it is identified by its object. */
export interface HostCall {
  readonly host: string;
  /** Namespace for which the call is made. */
  readonly namespace: string;
  /** Requests that it costs the host. */
  readonly requests: number;
  /** Makes the call. Must not reject, and must end by itself. */
  run(): Promise<void>;
}

interface Host {
  name: string;
  places: Places;
  /** Requests that can begin now; refilled with time, up to those of one second. */
  tokens: number;
  refilledAt: number;
  urgent: Turns<HostCall>;
  polls: Turns<HostCall>;
  urgentInARow: number;
  timer: { timeout: NodeJS.Timeout; due: number } | undefined;
}

/** Maximum git processes at a time: their memory has to fit next to the controller's. */
const MAX_GIT_PROCESSES = 2;
/** Limits for queries that the git binary sends, over ssh and git://. */
export const gitLimitsOf = (limits: HostLimits): HostLimits => ({
  ...limits,
  total: Math.min(limits.total, MAX_GIT_PROCESSES),
});
/** After this many urgent calls to a host in a row, a call that isn't urgent goes first. */
const URGENT_IN_A_ROW = 7;
/** Maximum calls that start when one ends, until all places are taken again. */
const BEGIN_FOR_EACH_END = 2;

/**
 * Queues calls and starts them at the pace of each host, so that no namespace holds up another: namespaces take turns at
 * each host, urgent calls first, and each can use a share of all places.
 */
export class HostLimiter {
  readonly #limits: HostLimits;
  readonly #places: Places;
  readonly #hosts = new Map<string, Host>();
  /** Hosts with calls that only wait for a place over all hosts. */
  readonly #held = new Turns<Host>();

  constructor(limits: HostLimits) {
    this.#limits = limits;
    this.#places = new Places(limits.total, limits.perNamespace);
  }

  /** Time by which a timer is late (ms). Calls that wait for a host don't count. */
  get stuckForMs(): number {
    const now = performance.now();
    const late = Array.from(this.#hosts.values(), ({ timer }) => (timer ? now - timer.due : 0));
    return late.reduce((longest, each) => Math.max(longest, each), 0);
  }

  /** Number of hosts that the limiter keeps data about. */
  get hosts(): number {
    return this.#hosts.size;
  }

  /** Queues a call, or makes one that is queued already urgent. */
  add(call: HostCall, isUrgent: boolean): void {
    const host = this.#host(nameOf(call));
    (isUrgent ? host.urgent : host.polls).add(call.namespace, call);
    this.#dispatch(host);
  }

  /** Removes a call from the queue. */
  remove(call: HostCall): void {
    const host = this.#hosts.get(nameOf(call));
    if (!host) return;
    host.urgent.delete(call);
    host.polls.delete(call);
    this.#dispatch(host);
  }

  #host(name: string): Host {
    const host = this.#hosts.get(name) ?? {
      name,
      places: new Places(this.#limits.perHost),
      tokens: this.#limits.perSecond,
      refilledAt: performance.now(),
      urgent: new Turns(),
      polls: new Turns(),
      urgentInARow: 0,
      timer: undefined,
    };
    this.#hosts.set(name, host);
    return host;
  }

  /** Starts the calls that can start at a host, and returns their number. */
  #dispatch(host: Host): number {
    this.#refill(host);
    let started = 0;
    for (; host.tokens >= 1; started += 1) {
      const call = this.#take(host);
      if (!call) break;
      const { namespace, requests } = call;
      host.tokens -= requests;
      host.places.take(namespace);
      this.#places.take(namespace);
      void call.run().finally(() => this.#end(host, namespace));
    }
    this.#schedule(host);
    return started;
  }

  #end(host: Host, namespace: string): void {
    host.places.release(namespace);
    this.#places.release(namespace);
    for (let started = 0; started < BEGIN_FOR_EACH_END; ) {
      const next = this.#held.take((held) => this.#places.hasFor(held));
      if (!next) break;
      started += this.#dispatch(next.item);
    }
    this.#dispatch(host);
  }

  #take(host: Host): HostCall | undefined {
    const admits = (namespace: string) => {
      if (!host.places.hasFor(namespace)) return false;
      const isFree = this.#places.hasFor(namespace);
      if (!isFree) this.#held.add(namespace, host);
      return isFree;
    };
    const isUrgentFirst = host.urgentInARow < URGENT_IN_A_ROW;
    const urgent = isUrgentFirst ? host.urgent.take(admits) : undefined;
    const poll = urgent ? undefined : host.polls.take(admits);
    const late = urgent || poll ? undefined : host.urgent.take(admits);
    const call = (urgent ?? poll ?? late)?.item;
    if (!call) return undefined;
    host.urgentInARow = poll ? 0 : host.urgentInARow + 1;
    host.urgent.delete(call);
    host.polls.delete(call);
    return call;
  }

  #refill(host: Host): void {
    const now = performance.now();
    const { perSecond } = this.#limits;
    host.tokens = Math.min(perSecond, host.tokens + ((now - host.refilledAt) / 1000) * perSecond);
    host.refilledAt = now;
  }

  /** Dispatches again when the next call can start. Forgets a host with nothing left to track. */
  #schedule(host: Host): void {
    const { perSecond } = this.#limits;
    const waits = !host.urgent.isEmpty || !host.polls.isEmpty;
    const wanted = waits ? 1 : perSecond;
    clearTimeout(host.timer?.timeout);
    host.timer = undefined;
    if (!waits && host.places.isEmpty && host.tokens >= wanted) {
      this.#hosts.delete(host.name);
      this.#held.delete(host);
    }
    if (host.tokens >= wanted) return;
    const waitMs = ((wanted - host.tokens) / perSecond) * 1000;
    const timeout = setTimeout(() => this.#dispatch(host), waitMs);
    timeout.unref(); // the queue doesn't keep the program from exiting
    host.timer = { timeout, due: performance.now() + waitMs };
  }
}

/** One name for each host, whatever the spelling: `GitHub.com.` is `github.com`. */
const nameOf = ({ host }: HostCall) => host.toLowerCase().replace(/\.$/, '');
