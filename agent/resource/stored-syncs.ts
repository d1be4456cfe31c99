import * as v from 'valibot';
import { syncSchema } from '../../shared/api/sync.ts';
import {
  type ProfileSource,
  type ResolvedProfile,
  resolveProfile,
} from '../../shared/domain/kubernetes/resolve-profile.ts';
import { backoffMs } from '../../shared/domain/limits/backoff.ts';
import { LruMap } from '../../shared/domain/limits/lru-map.ts';
import { syncRevision } from '../../shared/domain/rollout/sync-revision.ts';
import { messageOf } from '../../shared/domain/text/message-of.ts';
import { readJson } from '../../shared/domain/text/read-json.ts';
import { CodedError } from '../../shared/errors.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { readAnswer } from '../../shared/io/kubernetes/read-answer.ts';
import { syncReleasePath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Logger } from '../../shared/log.ts';
import type { Identity } from '../plan/template-values.ts';
import type { Release } from './choose-release.ts';

/** One profile in a `spec.sync`. */
export interface ProfileView {
  name: string;
  profile: ResolvedProfile | undefined;
  /** Names of all profiles. */
  names: string[];
  startPolicy: ResolvedProfile['startPolicy'];
}

export const viewProfile = (sync: ProfileSource, name: string): ProfileView => ({
  name,
  profile: resolveProfile(sync, name),
  names: Object.keys(sync.profiles),
  startPolicy: sync.defaults?.startPolicy ?? 'requireSync',
});

/** Returns the profile in the `spec.sync` of a release, or queries it and returns the reason for waiting. */
export type FindSync = (release: Pick<Release, 'revision' | 'release'>) => ProfileView | string;

export interface StoredSyncsOptions {
  client: KubernetesClient;
  identity: Pick<Identity, 'namespace' | 'profile'>;
  /** Called when the result of {@link StoredSyncs.find} might have changed. */
  onChange: () => void;
  log: Logger;
}

/** A `spec.sync` that hasn't been read, and the number of failures. */
interface Attempt {
  /** Name of the SyncRelease. */
  name: string;
  revision: string;
  message: string;
  failures: number;
  state: 'due' | 'asking' | 'resting';
}

/** Maximum number of contents: of the release, the stable one, and one for a new rollout. */
const KEPT = 3;
const TIMEOUT_MS = 15_000;
/** Limits that no spec.sync reaches. */
const BOUNDS = { depth: 32, parts: 500_000 };
const BACKOFF = { baseMs: 2_000, maxMs: 30_000, jitter: 0.5 };

/**
 * The `spec.sync` of releases, which the controller stores as SyncReleases. Each content is queried once and kept,
 * because the status names its hash. If it is missing or doesn't match, the query is repeated with a growing delay.
 */
export class StoredSyncs {
  readonly #options: StoredSyncsOptions;
  /** By revision. */
  readonly #known = new LruMap<string, ProfileView>(KEPT);
  /** By name and revision. */
  readonly #attempts = new LruMap<string, Attempt>(KEPT);

  constructor(options: StoredSyncsOptions) {
    this.#options = options;
  }

  /** See {@link FindSync}. */
  find({ revision, release: name }: Parameters<FindSync>[0]): ProfileView | string {
    const view = this.#known.get(revision);
    if (view) return view;
    if (name === undefined) return 'status.rollout names no SyncRelease: upgrade the controller';
    const attempt = this.#attemptFor(name, revision);
    if (attempt.state === 'due') void this.#ask(attempt);
    return attempt.message;
  }

  #attemptFor(name: string, revision: string): Attempt {
    const key = keyOf({ name, revision });
    const known = this.#attempts.get(key);
    if (known) return known;
    const message = 'the API server has not sent it yet';
    const attempt: Attempt = { name, revision, message, failures: 0, state: 'due' };
    this.#attempts.set(key, attempt);
    return attempt;
  }

  async #ask(attempt: Attempt): Promise<void> {
    const { onChange, log } = this.#options;
    attempt.state = 'asking';
    try {
      this.#known.set(attempt.revision, await this.#read(attempt));
      this.#attempts.delete(keyOf(attempt));
      onChange();
    } catch (error) {
      attempt.failures += 1;
      attempt.state = 'resting';
      attempt.message = this.#explain(error, attempt);
      const { name, failures } = attempt;
      if (Number.isInteger(Math.log2(failures))) log.warn({ err: error, release: name }, 'release not read');
      const onDue = () => {
        attempt.state = 'due';
        onChange();
      };
      setTimeout(onDue, backoffMs(failures, BACKOFF, Math.random())).unref();
      onChange();
    }
  }

  /** Throws if it is missing, forbidden, or invalid. */
  async #read({ name, revision }: Attempt): Promise<ProfileView> {
    const { client, identity } = this.#options;
    const path = syncReleasePath(identity.namespace, name);
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const text = await readAnswer(await client.stream({ method: 'GET', path, signal }));
    const object = readJson(storedSchema, Buffer.from(text), BOUNDS);
    if (!object) throw unusable(`${name} contains no spec.sync`);
    // A user who can write releases must not be able to choose files that way.
    if (syncRevision(object.spec.sync) !== revision)
      throw unusable(`${name} contains another spec.sync than the one in status.rollout`);
    const parsed = v.safeParse(syncSchema, object.spec.sync, { abortEarly: true });
    if (!parsed.success) throw unusable(`${name} contains an invalid spec.sync`);
    return viewProfile(parsed.output, identity.profile);
  }

  #explain(error: unknown, { name }: Attempt): string {
    const path = `${this.#options.identity.namespace}/${name}`;
    if (isApiError(error, 404)) return `the SyncRelease ${path} does not exist`;
    if (isApiError(error, 403)) {
      return `the agent has no permission to read the SyncRelease ${path}: grant get on syncreleases in the ClusterRole sync-agent`;
    }
    return messageOf(error).slice(0, 300);
  }
}

const unusable = (says: string) => new CodedError(says, 'release.unusable');

const keyOf = ({ name, revision }: Pick<Attempt, 'name' | 'revision'>) => `${name} ${revision}`;

const storedSchema = v.object({ spec: v.object({ sync: v.unknown() }) });
