import type { ObjectMeta } from '../../shared/api/object-meta.ts';
import { backoffMs } from '../../shared/domain/backoff.ts';
import { isObjectName } from '../../shared/domain/object-name.ts';
import { Slots } from '../../shared/domain/slots.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import { type KubernetesClient, METADATA_ONLY } from '../../shared/io/kubernetes/client.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import { corePath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Logger } from '../../shared/log.ts';
import { type NamedSecret, secretsOf } from '../injection/sidecar-volumes.ts';
import type { ObservedGatewaySync } from '../watch/observed-gateway-sync.ts';
import { ownerOfField } from '../watch/observed-owner.ts';
import type { Access } from './agent-binder.ts';

/** What came of a look at the Secrets of a resource. Times are in milliseconds of the monotonic clock. */
interface Look {
  /** Of the resource: another spec may name other Secrets. */
  version: string;
  lookedAt: number;
  /** What is missing, a sentence each. */
  problems: string[];
  /** Looks in a row that found something missing, or nothing out. */
  failures: number;
  /** Looks in a row that found everything while pods started. */
  starts: number;
}

/** What is known of the Secrets, or for how many milliseconds it is worth to wait until anything is. */
export type Looked = { kind: 'known'; access: Access } | { kind: 'looking'; waitMs: number };

/** What a resource is looked at for. */
interface Subject {
  gatewaySync: ObservedGatewaySync;
  named: NamedSecret[];
  /** Whether pods are on their way. */
  isStarting: boolean;
  log: Logger;
}

/** Whether anybody still wants to know. */
type Asked = { isAsked: () => boolean };

/** Secrets of one resource that are looked at; more than anybody needs. */
const MAX_SECRETS = 32;
/** So many missing Secrets are reported, and no further ones are looked at meanwhile. */
const MAX_PROBLEMS = 3;
/** Secrets that are looked at at a time, and that are read as a whole: each may have a megabyte, of which nothing is kept. */
const AT_ONCE = { looked: 4, whole: 2 };
const TIMEOUT_MS = 5_000;
/** How long it is worth to wait for the first look, in milliseconds: a status that said nothing would be believed. */
const PATIENCE_MS = 1_000;
/** When a Secret that is missing is looked for again, in milliseconds. */
const MISSING = { baseMs: 5_000, maxMs: 60_000, jitter: 0 };
/** How old a look may be where everything was there, in milliseconds: while pods start, less and less often, and otherwise. */
const FRESH_MS = { starting: 10_000, running: 9 * 60_000 };

export interface NamedSecretsOptions {
  client: KubernetesClient;
  /** Told when more is known of the Secrets of a resource. */
  onLook: (key: ObjectKey) => void;
}

/**
 * Looks at the Secrets that a resource names: no pod starts without them, and the kubelet says so in no status. They are
 * looked up by name, now and then. What is in them is not needed as a rule, and never kept. No reconcile waits for it, and
 * namespaces take turns: somebody may name many large ones.
 */
export class NamedSecrets {
  readonly #options: NamedSecretsOptions;
  readonly #looks = new Map<ObjectKey, Look>();
  /** Looks that are under way, at most one a resource, and since when. */
  readonly #underWay = new Map<ObjectKey, { since: number }>();
  readonly #slots = new Slots(AT_ONCE.looked);
  readonly #wholes = new Slots(AT_ONCE.whole);

  constructor(options: NamedSecretsOptions) {
    this.#options = options;
  }

  /** Says what is missing as far as that is known, and looks where it is due. Who cannot look says nothing. */
  look(
    key: ObjectKey,
    gatewaySync: ObservedGatewaySync,
    { isStarting, log }: Pick<Subject, 'isStarting' | 'log'>,
  ): Looked {
    const { name, spec } = gatewaySync;
    const named = secretsOf({ crName: name, spec }).slice(0, MAX_SECRETS);
    if (named.length === 0) {
      this.forget(key);
      return { kind: 'known', access: {} };
    }
    const last = this.#looks.get(key);
    const isOfThis = last?.version === versionOf(gatewaySync);
    const freshForMs = last && isOfThis ? last.lookedAt + lifetimeOf(last, isStarting) - performance.now() : 0;
    if (last && freshForMs > 0) return { kind: 'known', access: accessOf(last, isStarting, freshForMs) };
    const since = this.#begin(key, { gatewaySync, named, isStarting, log });
    const waitMs = since + PATIENCE_MS - performance.now();
    if (!isOfThis && waitMs > 0) return { kind: 'looking', waitMs };
    const access = last ? accessOf(last, isStarting, lifetimeOf(last, isStarting)) : saidBefore(gatewaySync);
    return { kind: 'known', access };
  }

  /** Drops what is kept of a resource. */
  forget(key: ObjectKey): void {
    this.#looks.delete(key);
    this.#underWay.delete(key);
  }

  /** Begins a look unless one is under way; gives the time at which it began, in milliseconds of the monotonic clock. */
  #begin(key: ObjectKey, subject: Subject): number {
    const before = this.#underWay.get(key);
    if (before) return before.since;
    const begun = { since: performance.now() };
    this.#underWay.set(key, begun);
    const isAsked = () => this.#underWay.get(key) === begun;
    void this.#lookAt({ ...subject, isAsked }, this.#looks.get(key)).then((look) => {
      if (!isAsked()) return;
      this.#underWay.delete(key);
      this.#looks.set(key, look);
      this.#options.onLook(key);
    });
    return begun.since;
  }

  /** Never throws. */
  async #lookAt(subject: Subject & Asked, before: Look | undefined): Promise<Look> {
    const { gatewaySync, isStarting, log } = subject;
    const version = versionOf(gatewaySync);
    const last = before?.version === version ? before : undefined;
    const found = await this.#problemsOf(subject).catch((error: unknown) => {
      log.warn({ err: error }, 'cannot read the Secrets of the resource');
    });
    const problems = found ?? last?.problems ?? [];
    const failures = found?.length === 0 ? 0 : (last?.failures ?? 0) + 1;
    const starts = failures === 0 && isStarting ? (last?.starts ?? 0) + 1 : 0;
    return { version, lookedAt: performance.now(), problems, failures, starts };
  }

  async #problemsOf({ gatewaySync: { namespace }, named, isAsked }: Subject & Asked): Promise<string[]> {
    const problems: string[] = [];
    for (const secret of named) {
      if (!isAsked()) break;
      const problem = await this.#slots.run(() => this.#problemOf(namespace, secret), namespace);
      if (problem) problems.push(problem);
      if (problems.length === MAX_PROBLEMS) break;
    }
    return problems;
  }

  async #problemOf(namespace: string, { name, keys }: NamedSecret): Promise<string | undefined> {
    const absent = `Secret ${namespace}/${name}, which the resource names, does not exist: create it, since no pod starts without it`;
    if (!isObjectName(name)) return absent; // nothing else may get into a path
    try {
      const missing = await this.#missingKey(namespace, { name, keys });
      return missing === undefined
        ? undefined
        : `Secret ${namespace}/${name} has no key ${missing}, which the resource names: add it, since no pod starts without it`;
    } catch (error) {
      if (isApiError(error, 404)) return absent;
      // Not all of them are the controller's to read in every installation.
      if (isApiError(error, 403)) return undefined;
      throw error;
    }
  }

  /** The metadata tell by themselves who wrote which key; what is in them is asked for only where they do not. */
  async #missingKey(namespace: string, { name, keys }: NamedSecret): Promise<string | undefined> {
    const { client } = this.#options;
    const path = corePath('secrets', namespace, name);
    const options = { timeoutMs: TIMEOUT_MS, accept: METADATA_ONLY };
    const { metadata } = await client.get<{ metadata: ObjectMeta }>(path, options);
    if (keys.every((key) => ownerOfField(metadata.managedFields, ['f:data', `f:${key}`]))) return undefined;
    return await this.#wholes.run(async () => {
      const { data = {} } = await client.get<{ data?: object }>(path, { timeoutMs: TIMEOUT_MS });
      return keys.find((key) => !Object.hasOwn(data, key));
    }, namespace);
  }
}

/** Of the condition. */
const REASON = 'SecretNotFound';

/** Another spec may name other Secrets. */
const versionOf = ({ uid, generation }: ObservedGatewaySync): string => `${uid} ${generation}`;

function lifetimeOf({ failures, starts }: Look, isStarting: boolean): number {
  if (failures > 0) return backoffMs(failures, MISSING, 0);
  if (!isStarting) return FRESH_MS.running;
  return backoffMs(starts, { baseMs: FRESH_MS.starting, maxMs: FRESH_MS.running, jitter: 0 }, 0);
}

/** What the status says, maybe by an earlier leader, while nothing newer is known. */
function saidBefore({ status }: ObservedGatewaySync): Access {
  const before = status.conditions?.find(({ type }) => type === 'AgentAccess');
  if (before?.reason !== REASON) return {};
  return { problem: { reason: REASON, message: before.message } };
}

/** Where all is well, the next look can wait until the resource is reconciled anyway. */
function accessOf({ problems, failures }: Look, isStarting: boolean, retryAfterMs: number): Access {
  if (failures === 0 && !isStarting) return {};
  if (problems.length === 0) return { retryAfterMs };
  return { problem: { reason: REASON, message: problems.join('; ') }, retryAfterMs };
}
