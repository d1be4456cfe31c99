import { conditionOf } from '../../shared/domain/kubernetes/condition-of.ts';
import { isObjectName } from '../../shared/domain/kubernetes/object-name.ts';
import { backoffMs } from '../../shared/domain/limits/backoff.ts';
import { Slots } from '../../shared/domain/limits/slots.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { corePath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Logger } from '../../shared/log.ts';
import { type NamedSecret, secretsOf } from '../injection/sidecar-volumes.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import type { SupplyResult } from './agent-binder.ts';

/** Result of a check of the Secrets; times of a monotonic clock (ms). */
interface Check {
  /** Version of the resource, because another spec can name other Secrets. */
  version: string;
  checkedAt: number;
  /** Missing Secrets and keys, one sentence each. */
  problems: string[];
  /** Consecutive checks that require another one soon: a Secret was missing, a check failed, or pods started. */
  repeats: number;
}

/** Known facts about the Secrets, or the time to wait for them. */
export type CheckedSecrets = { kind: 'known'; access: SupplyResult } | { kind: 'checking'; waitMs: number };

interface Subject {
  gatewaySync: ObservedGatewaySync;
  /** Whether pods are starting. */
  isStarting: boolean;
  log: Logger;
}

/** Maximum number of Secrets checked per resource, more than any resource needs. */
const MAX_SECRETS = 32;
/** Maximum number of missing Secrets reported; no further ones are checked. */
const MAX_PROBLEMS = 3;
/** Time that the first check gets before a status is written without it (ms). */
const PATIENCE_MS = 1_000;
/** Delay before the next check while a Secret is missing or pods start (ms). */
const REPEAT = { baseMs: 5_000, maxMs: 60_000, jitter: 0 };
/** Age up to which a check without problems is valid otherwise (ms). */
const FRESH_MS = 9 * 60_000;

export interface NamedSecretsOptions {
  reader: SecretReader;
  /** The resource in the cache. */
  cached: () => ObservedGatewaySync | undefined;
  /** Enqueues the resource when new facts about its Secrets are known. */
  enqueue: () => void;
}

/**
 * Checks the Secrets of one resource: without them no pod starts, and the kubelet reports that in no status. They are
 * read by name at intervals, and their content isn't kept. Reconciles don't wait for checks.
 */
export class NamedSecrets {
  readonly #options: NamedSecretsOptions;
  #last: Check | undefined;
  /** Start of the check in progress. */
  #running: { since: number } | undefined;

  constructor(options: NamedSecretsOptions) {
    this.#options = options;
  }

  /** Returns the missing Secrets known so far, and starts a check if one is due. Without permission, none are missing. */
  check(subject: Subject): CheckedSecrets {
    const { gatewaySync, isStarting } = subject;
    const named = secretsOf(gatewaySync).slice(0, MAX_SECRETS);
    if (named.length === 0) {
      this.#last = undefined;
      this.#running = undefined;
      return { kind: 'known', access: {} };
    }
    const last = this.#last;
    const isOfThis = last?.version === versionOf(gatewaySync);
    const freshForMs = last && isOfThis ? last.checkedAt + lifetimeOf(last, isStarting) - performance.now() : 0;
    if (last && freshForMs > 0) return { kind: 'known', access: accessOf(last, isStarting, freshForMs) };
    const since = this.#begin(subject, named);
    const waitMs = since + PATIENCE_MS - performance.now();
    if (!isOfThis && waitMs > 0) return { kind: 'checking', waitMs };
    const access = last ? accessOf(last, isStarting, lifetimeOf(last, isStarting)) : reportedBefore(gatewaySync);
    return { kind: 'known', access };
  }

  /** Starts a check unless one is in progress; returns its start (ms of a monotonic clock). */
  #begin(subject: Subject, named: NamedSecret[]): number {
    if (this.#running) return this.#running.since;
    const running = { since: performance.now() };
    this.#running = running;
    const isNeeded = () => this.#running === running && this.#options.cached()?.uid === subject.gatewaySync.uid;
    void this.#run(subject, named, isNeeded).then((check) => {
      if (this.#running !== running) return;
      this.#running = undefined;
      this.#last = check;
      if (this.#options.cached()) this.#options.enqueue();
    });
    return running.since;
  }

  /** Never throws. */
  async #run({ gatewaySync, isStarting, log }: Subject, named: NamedSecret[], isNeeded: () => boolean): Promise<Check> {
    const version = versionOf(gatewaySync);
    const last = this.#last?.version === version ? this.#last : undefined;
    const found = await this.#problemsOf(gatewaySync.namespace, named, isNeeded).catch((error: unknown) => {
      log.warn({ err: error }, 'Secrets of the resource not read');
    });
    const problems = found ?? last?.problems ?? [];
    const isComplete = found?.length === 0 && !isStarting;
    const repeats = isComplete ? 0 : (last?.repeats ?? 0) + 1;
    return { version, checkedAt: performance.now(), problems, repeats };
  }

  async #problemsOf(namespace: string, named: NamedSecret[], isNeeded: () => boolean): Promise<string[]> {
    const problems: string[] = [];
    for (const secret of named) {
      if (!isNeeded() || problems.length === MAX_PROBLEMS) break;
      const problem = await this.#options.reader.problemOf(namespace, secret);
      if (problem) problems.push(problem);
    }
    return problems;
  }
}

/** Reason of the condition. */
const REASON = 'SecretNotFound';

/** Another spec can name other Secrets. */
const versionOf = ({ uid, generation }: ObservedGatewaySync): string => `${uid} ${generation}`;

function lifetimeOf({ repeats }: Check, isStarting: boolean): number {
  return repeats > 0 || isStarting ? backoffMs(repeats, REPEAT, 0) : FRESH_MS;
}

/** Problem in the status, perhaps from an earlier leader, until newer facts are known. */
function reportedBefore({ status }: ObservedGatewaySync): SupplyResult {
  const before = conditionOf(status.conditions, 'AgentAccess');
  if (before?.reason !== REASON) return {};
  return { problem: { reason: REASON, message: before.message } };
}

/** If nothing is missing, the next check can wait until the resource is reconciled anyway. */
function accessOf({ problems, repeats }: Check, isStarting: boolean, retryAfterMs: number): SupplyResult {
  if (repeats === 0 && !isStarting) return {};
  if (problems.length === 0) return { retryAfterMs };
  return { problem: { reason: REASON, message: problems.join('; ') }, retryAfterMs };
}

/** Maximum number of Secrets read concurrently; each can have 1 MiB, and isn't kept. */
const MAX_CONCURRENT = 2;
const TIMEOUT_MS = 5_000;

/** Checks Secrets for all resources. Namespaces take turns, because a tenant may name many large ones. */
export class SecretReader {
  readonly #client: KubernetesClient;
  readonly #slots = new Slots(MAX_CONCURRENT);

  constructor(client: KubernetesClient) {
    this.#client = client;
  }

  /** Returns a sentence about a missing Secret or key; undefined if complete. Throws errors of the API server. */
  async problemOf(namespace: string, { name, keys }: NamedSecret): Promise<string | undefined> {
    const absent = `Secret ${namespace}/${name}, which the resource names, doesn't exist; create it, because pods can't start without it`;
    if (!isObjectName(name)) return absent; // nothing else may get into a path
    try {
      const path = corePath('secrets', namespace, name);
      const get = () => this.#client.getAs<{ data?: object }>(path, { timeoutMs: TIMEOUT_MS });
      const { data = {} } = await this.#slots.run(get, namespace);
      const missing = keys.find((key) => !Object.hasOwn(data, key));
      return missing === undefined
        ? undefined
        : `Secret ${namespace}/${name} has no key ${missing}, which the resource names; add it, because pods can't start without it`;
    } catch (error) {
      if (isApiError(error, 404)) return absent;
      // In some installations, the controller isn't allowed to read all of them.
      if (isApiError(error, 403)) return undefined;
      throw error;
    }
  }
}
