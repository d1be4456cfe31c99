import * as v from 'valibot';
import { syncSchema } from '../../shared/api/sync.ts';
import {
  type ProfileSource,
  type ResolvedProfile,
  resolveProfile,
} from '../../shared/domain/kubernetes/resolve-profile.ts';
import { backoffMs } from '../../shared/domain/limits/backoff.ts';
import { LruMap } from '../../shared/domain/limits/lru-map.ts';
import { revisionName, syncRevision } from '../../shared/domain/rollout/sync-revision.ts';
import { messageOf } from '../../shared/domain/text/message-of.ts';
import { readJson } from '../../shared/domain/text/read-json.ts';
import { CodedError } from '../../shared/errors.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { readAnswer } from '../../shared/io/kubernetes/read-answer.ts';
import { groupPath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Logger } from '../../shared/log.ts';
import type { Identity } from '../plan/template-values.ts';

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

export interface RevisionsOptions {
  client: KubernetesClient;
  identity: Pick<Identity, 'namespace' | 'crName' | 'profile'>;
  /** Called when the result of {@link Revisions.find} might have changed. */
  onChange: () => void;
  log: Logger;
}

/** A revision that hasn't been read, and the number of failures. */
interface Attempt {
  revision: string;
  owner: string;
  message: string;
  failures: number;
  state: 'due' | 'asking' | 'resting';
}

/** Maximum number of revisions: the release, the stable one, and one for a new rollout. */
const KEPT = 3;
const TIMEOUT_MS = 15_000;
/** Limits that no spec.sync reaches. */
const BOUNDS = { depth: 32, parts: 500_000 };
const BACKOFF = { baseMs: 2_000, maxMs: 30_000, jitter: 0.5 };

/**
 * Earlier revisions of `spec.sync`, which the controller keeps as ControllerRevisions. Each is queried once and kept,
 * because its name is the hash of its content. If one is missing or doesn't match its name, the query is repeated with
 * a growing delay.
 */
export class Revisions {
  readonly #options: RevisionsOptions;
  readonly #known = new LruMap<string, ProfileView>(KEPT);
  /** By revision and owner. */
  readonly #attempts = new LruMap<string, Attempt>(KEPT);

  constructor(options: RevisionsOptions) {
    this.#options = options;
  }

  /** Returns the revision, or queries it and returns the reason for waiting. `owner` is the UID of the GatewaySync. */
  find(revision: string, owner: string): ProfileView | string {
    const view = this.#known.get(revision);
    if (view) return view;
    const attempt = this.#attemptFor(revision, owner);
    if (attempt.state === 'due') void this.#ask(attempt);
    return attempt.message;
  }

  #attemptFor(revision: string, owner: string): Attempt {
    const key = keyOf({ revision, owner });
    const known = this.#attempts.get(key);
    if (known) return known;
    const attempt: Attempt = {
      revision,
      owner,
      message: 'the API server has not sent it yet',
      failures: 0,
      state: 'due',
    };
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
      const { revision, failures } = attempt;
      if (Number.isInteger(Math.log2(failures))) log.warn({ err: error, revision }, 'revision of spec.sync not read');
      const onDue = () => {
        attempt.state = 'due';
        onChange();
      };
      setTimeout(onDue, backoffMs(failures, BACKOFF, Math.random())).unref();
      onChange();
    }
  }

  /** Throws if it is missing, forbidden, or invalid. */
  async #read({ revision, owner }: Attempt): Promise<ProfileView> {
    const { client, identity } = this.#options;
    const name = revisionName(identity.crName, revision);
    const path = groupPath('apps/v1', 'controllerrevisions', identity.namespace, name);
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const text = await readAnswer(await client.stream({ method: 'GET', path, signal }));
    const object = readJson(controllerRevisionSchema, Buffer.from(text), BOUNDS);
    if (!object) throw unusable(`${name} contains no spec.sync`);
    const owners = object.metadata.ownerReferences ?? [];
    if (!owners.some(({ uid }) => uid === owner)) throw unusable(`${name} does not belong to the GatewaySync`);
    // A user who can write ControllerRevisions must not be able to choose files that way.
    if (syncRevision(object.data.sync) !== revision)
      throw unusable(`${name} contains a spec.sync that does not match its name`);
    const parsed = v.safeParse(syncSchema, object.data.sync, { abortEarly: true });
    if (!parsed.success) throw unusable(`${name} contains an invalid spec.sync`);
    return viewProfile(parsed.output, identity.profile);
  }

  #explain(error: unknown, { revision }: Attempt): string {
    const { namespace, crName } = this.#options.identity;
    const name = `${namespace}/${revisionName(crName, revision)}`;
    if (isApiError(error, 404)) return `the ControllerRevision ${name} does not exist`;
    if (isApiError(error, 403)) {
      return `the agent has no permission to read the ControllerRevision ${name}: grant get on controllerrevisions (apps) in the ClusterRole sync-agent`;
    }
    return messageOf(error).slice(0, 300);
  }
}

const unusable = (says: string) => new CodedError(says, 'revision.unusable');

const keyOf = ({ revision, owner }: Pick<Attempt, 'revision' | 'owner'>) => `${revision} ${owner}`;

const controllerRevisionSchema = v.object({
  metadata: v.object({ ownerReferences: v.optional(v.array(v.object({ uid: v.string() }))) }),
  data: v.object({ sync: v.unknown() }),
});
