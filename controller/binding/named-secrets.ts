import type { ObjectMeta } from '../../shared/api/object-meta.ts';
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

/** Secrets of one resource that are looked at; more than anybody needs. */
const MAX_SECRETS = 32;
/** So many missing Secrets are reported, and no further ones are looked at meanwhile. */
const MAX_PROBLEMS = 3;
/** Secrets that are read as a whole at a time: each may have a megabyte, of which nothing is kept. */
const AT_ONCE = 2;
const TIMEOUT_MS = 5_000;
/** When a Secret that is missing is looked for again, in milliseconds. */
const MISSING_MS = { base: 5_000, max: 60_000 };
/** How old a look may be where everything was there, in milliseconds: while pods start, less and less often, and otherwise. */
const FRESH_MS = { starting: 10_000, running: 9 * 60_000 };

/**
 * Looks at the Secrets that a resource names: no pod starts without them, and the kubelet says so in no status. They are
 * looked up by name, now and then. What is in them is not needed as a rule, and never kept.
 */
export class NamedSecrets {
  readonly #client: KubernetesClient;
  readonly #looks = new Map<ObjectKey, Look>();
  readonly #slots = new Slots(AT_ONCE);

  constructor(client: KubernetesClient) {
    this.#client = client;
  }

  /** Says what is missing; `isStarting` where pods are on their way. Never throws: who cannot look says nothing. */
  async look(
    key: ObjectKey,
    { namespace, name, uid, generation, spec }: ObservedGatewaySync,
    { isStarting, log }: { isStarting: boolean; log: Logger },
  ): Promise<Access> {
    const named = secretsOf({ crName: name, spec });
    if (named.length === 0) {
      this.forget(key);
      return {};
    }
    const version = `${uid} ${generation}`;
    const before = this.#looks.get(key);
    const last = before?.version === version ? before : undefined;
    const waitMs = last ? last.lookedAt + lifetimeOf(last, isStarting) - performance.now() : 0;
    if (last && waitMs > 0) return accessOf(last, isStarting, waitMs);
    const found = await this.#problemsOf(namespace, named.slice(0, MAX_SECRETS)).catch((error: unknown) => {
      log.warn({ err: error }, 'the Secrets of the resource cannot be looked at');
    });
    const problems = found ?? last?.problems ?? [];
    const failures = found?.length === 0 ? 0 : (last?.failures ?? 0) + 1;
    const starts = failures === 0 && isStarting ? (last?.starts ?? 0) + 1 : 0;
    const look = { version, lookedAt: performance.now(), problems, failures, starts };
    this.#looks.set(key, look);
    return accessOf(look, isStarting, lifetimeOf(look, isStarting));
  }

  /** Drops what is kept of a resource. */
  forget(key: ObjectKey): void {
    this.#looks.delete(key);
  }

  async #problemsOf(namespace: string, named: NamedSecret[]): Promise<string[]> {
    const problems: string[] = [];
    for (const secret of named) {
      const problem = await this.#problemOf(namespace, secret);
      if (problem) problems.push(problem);
      if (problems.length === MAX_PROBLEMS) break;
    }
    return problems;
  }

  async #problemOf(namespace: string, { name, keys }: NamedSecret): Promise<string | undefined> {
    const absent = `Secret ${namespace}/${name}, which the resource names, does not exist: create it, since no pod starts without it`;
    if (!isObjectName(name)) return absent; // nothing else may get into a path
    try {
      const missing = await this.#missingKey(corePath('secrets', namespace, name), keys);
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
  async #missingKey(path: string, keys: string[]): Promise<string | undefined> {
    const options = { timeoutMs: TIMEOUT_MS, accept: METADATA_ONLY };
    const { metadata } = await this.#client.get<{ metadata: ObjectMeta }>(path, options);
    if (keys.every((key) => ownerOfField(metadata.managedFields, ['f:data', `f:${key}`]))) return undefined;
    return await this.#slots.run(async () => {
      const { data = {} } = await this.#client.get<{ data?: object }>(path, { timeoutMs: TIMEOUT_MS });
      return keys.find((key) => !Object.hasOwn(data, key));
    });
  }
}

function lifetimeOf({ failures, starts }: Look, isStarting: boolean): number {
  if (failures > 0) return Math.min(MISSING_MS.max, MISSING_MS.base * 2 ** (failures - 1));
  if (!isStarting) return FRESH_MS.running;
  return Math.min(FRESH_MS.running, FRESH_MS.starting * 2 ** Math.max(0, starts - 1));
}

/** Where all is well, the next look can wait until the resource is reconciled anyway. */
function accessOf({ problems, failures }: Look, isStarting: boolean, retryAfterMs: number): Access {
  if (failures === 0 && !isStarting) return {};
  if (problems.length === 0) return { retryAfterMs };
  return { problem: { reason: 'SecretNotFound', message: problems.join('; ') }, retryAfterMs };
}
