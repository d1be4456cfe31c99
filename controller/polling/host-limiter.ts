import { Turns } from '../../shared/domain/turns.ts';
import { Places } from './places.ts';

/** How much git hosts are asked at most. */
export interface QuestionLimits {
  /** Questions under way at a time, over all hosts. */
  total: number;
  /** Of these, questions of one namespace. */
  perNamespace: number;
  /** Questions under way at one host at a time. */
  perHost: number;
  /** Requests that begin at one host each second, over time; so many may begin at once. */
  perSecond: number;
}

/** Something to ask a host; known by its identity. */
export interface Question {
  readonly host: string;
  /** How many requests it costs the host. */
  readonly requests: number;
  /** Asks; must not reject, and must end by itself. */
  ask(): Promise<void>;
}

/** Why a question is asked. */
export interface Cause {
  namespace: string;
  /** Somebody did something, and waits for the result. */
  isUrgent: boolean;
}

interface Host {
  name: string;
  places: Places;
  /** Requests that may begin now; grows with time up to a second's worth. */
  tokens: number;
  refilledAt: number;
  urgent: Turns<Question>;
  polls: Turns<Question>;
  urgentInARow: number;
  timer: { timeout: NodeJS.Timeout; due: number } | undefined;
}

/** Processes of git under way at a time: what they may use in all has to fit next to the controller. */
const MAX_GIT_PROCESSES = 2;
/** The limits for questions that the git binary asks, by ssh and git://. */
export const gitLimitsOf = (limits: QuestionLimits): QuestionLimits => ({
  ...limits,
  total: Math.min(limits.total, MAX_GIT_PROCESSES),
});
/** So many urgent questions of a host in a row, and another one has its turn. */
const URGENT_IN_A_ROW = 7;
/** More begins than ends, until all places are taken again. */
const BEGIN_FOR_EACH_END = 2;

/**
 * Lets questions through to the hosts, at the pace of each, and so that no namespace holds up another:
 * they have their turns at each host, urgent questions first, and a share of all that is under way.
 */
export class HostLimiter {
  readonly #limits: QuestionLimits;
  readonly #places: Places;
  readonly #hosts = new Map<string, Host>();
  /** Hosts with questions that would have begun, were it not for the places over all hosts. */
  readonly #held = new Turns<Host>();

  constructor(limits: QuestionLimits) {
    this.#limits = limits;
    this.#places = new Places(limits.total, limits.perNamespace);
  }

  /** Milliseconds by which a timer is late; 0 while all is well, however long hosts keep others waiting. */
  get stuckForMs(): number {
    const now = performance.now();
    const late = Array.from(this.#hosts.values(), ({ timer }) => (timer ? now - timer.due : 0));
    return late.reduce((most, each) => Math.max(most, each), 0);
  }

  /** Number of hosts of which something is known. */
  get hosts(): number {
    return this.#hosts.size;
  }

  /** Asks when it is the question's turn. It may wait for several namespaces: the first whose turn it is has it asked. */
  add(question: Question, { namespace, isUrgent }: Cause): void {
    const host = this.#host(nameOf(question));
    (isUrgent ? host.urgent : host.polls).add(namespace, question);
    this.#dispatch(host);
  }

  /** Drops a question that nobody needs answered any more. */
  remove(question: Question): void {
    const host = this.#hosts.get(nameOf(question));
    if (!host) return;
    host.urgent.delete(question);
    host.polls.delete(question);
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

  /** Begins what may begin at a host; gives how many that was. */
  #dispatch(host: Host): number {
    this.#refill(host);
    let begun = 0;
    for (; host.tokens >= 1; begun += 1) {
      const next = this.#take(host);
      if (!next) break;
      const { party: namespace, item: question } = next;
      host.tokens -= question.requests;
      host.places.take(namespace);
      this.#places.take(namespace);
      void question.ask().finally(() => this.#end(host, namespace));
    }
    this.#lookAgain(host);
    return begun;
  }

  #end(host: Host, namespace: string): void {
    host.places.release(namespace);
    this.#places.release(namespace);
    for (let begun = 0; begun < BEGIN_FOR_EACH_END; ) {
      const next = this.#held.take((held) => this.#places.hasFor(held));
      if (!next) break;
      begun += this.#dispatch(next.item);
    }
    this.#dispatch(host);
  }

  #take(host: Host): { party: string; item: Question } | undefined {
    const admits = (namespace: string) => {
      if (!host.places.hasFor(namespace)) return false;
      const isFree = this.#places.hasFor(namespace);
      if (!isFree) this.#held.add(namespace, host);
      return isFree;
    };
    const isTurnOfUrgent = host.urgentInARow < URGENT_IN_A_ROW;
    const [first, second] = isTurnOfUrgent ? [host.urgent, host.polls] : [host.polls, host.urgent];
    const next = first.take(admits);
    const taken = next ?? second.take(admits);
    if (!taken) return undefined;
    (next ? second : first).delete(taken.item);
    host.urgentInARow = (next ? first : second) === host.urgent ? host.urgentInARow + 1 : 0;
    return taken;
  }

  #refill(host: Host): void {
    const now = performance.now();
    const { perSecond } = this.#limits;
    host.tokens = Math.min(perSecond, host.tokens + ((now - host.refilledAt) / 1000) * perSecond);
    host.refilledAt = now;
  }

  /** Comes back when another question may begin, or to forget a host of which nothing needs to be known. */
  #lookAgain(host: Host): void {
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
    const wait = ((wanted - host.tokens) / perSecond) * 1000;
    const timeout = setTimeout(() => this.#dispatch(host), wait);
    timeout.unref(); // what waits keeps no program from ending
    host.timer = { timeout, due: performance.now() + wait };
  }
}

/** One name for each host, however it is spelt: `GitHub.com.` is `github.com`. */
const nameOf = ({ host }: Question) => host.toLowerCase().replace(/\.$/, '');
