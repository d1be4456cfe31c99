import * as v from 'valibot';
import { syncSchema } from '../../shared/api/sync.ts';
import { backoffMs } from '../../shared/domain/backoff.ts';
import { LruMap } from '../../shared/domain/lru-map.ts';
import { readJson } from '../../shared/domain/read-json.ts';
import { type ProfileSource, type ResolvedProfile, resolveProfile } from '../../shared/domain/resolve-profile.ts';
import { revisionName, syncRevision } from '../../shared/domain/sync-revision.ts';
import { messageOf } from '../../shared/errors.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { readText } from '../../shared/io/kubernetes/read-answer.ts';
import { groupPath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Logger } from '../../shared/log.ts';
import type { Identity } from '../plan/template-values.ts';

/** What `spec.sync` says of one profile. */
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
  /** What {@link Revisions.find} returns may have changed. */
  onChange: () => void;
  log: Logger;
}

/** One that is not at hand, and how often it could not be had. */
interface Attempt {
  revision: string;
  owner: string;
  message: string;
  failures: number;
  state: 'due' | 'asking' | 'resting';
}

/** At most that of the release and the stable one are asked for; one more for a rollout that begins. */
const KEPT = 3;
const TIMEOUT_MS = 15_000;
/** No spec.sync has as many levels; its values and keys are far fewer. */
const BOUNDS = { depth: 32, parts: 500_000 };
const BACKOFF = { baseMs: 2_000, maxMs: 30_000, jitter: 0.5 };

/**
 * Earlier revisions of `spec.sync`, which the controller keeps as ControllerRevisions. Each is asked for once and kept:
 * its name is the hash of what it says. One that cannot be had, or is not what its name says, is asked for again after a
 * time that grows.
 */
export class Revisions {
  readonly #options: RevisionsOptions;
  readonly #known = new LruMap<string, ProfileView>(KEPT);
  #attempt: Attempt | undefined;

  constructor(options: RevisionsOptions) {
    this.#options = options;
  }

  /** Returns the revision, or the message why it isn't at hand, and fetches it then. `owner` is the UID of the GatewaySync. */
  find(revision: string, owner: string): ProfileView | string {
    const view = this.#known.get(revision);
    if (view) return view;
    const attempt = this.#attemptFor(revision, owner);
    if (attempt.state === 'due') void this.#ask(attempt);
    return attempt.message;
  }

  #attemptFor(revision: string, owner: string): Attempt {
    const { revision: asked, owner: askedOf } = this.#attempt ?? {};
    if (!this.#attempt || asked !== revision || askedOf !== owner) {
      this.#attempt = { revision, owner, message: 'the API server has not sent it yet', failures: 0, state: 'due' };
    }
    return this.#attempt;
  }

  async #ask(attempt: Attempt): Promise<void> {
    const { onChange, log } = this.#options;
    attempt.state = 'asking';
    try {
      this.#known.set(attempt.revision, await this.#read(attempt));
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

  /** Throws where it is not there, may not be read, or is not what it has to be. */
  async #read({ revision, owner }: Attempt): Promise<ProfileView> {
    const { client, identity } = this.#options;
    const name = revisionName(identity.crName, revision);
    const path = groupPath('apps/v1', 'controllerrevisions', identity.namespace, name);
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    const text = await readText(await client.stream({ method: 'GET', path, signal }));
    const object = readJson(controllerRevisionSchema, Buffer.from(text), BOUNDS);
    if (!object) throw new Error(`${name} contains no spec.sync`);
    const owners = object.metadata.ownerReferences ?? [];
    if (!owners.some(({ uid }) => uid === owner)) throw new Error(`${name} does not belong to the GatewaySync`);
    // Whoever may write ControllerRevisions must not decide on files thereby.
    if (syncRevision(object.data.sync) !== revision)
      throw new Error(`${name} contains a spec.sync that does not match its name`);
    const parsed = v.safeParse(syncSchema, object.data.sync, { abortEarly: true });
    if (!parsed.success) throw new Error(`${name} contains an invalid spec.sync`);
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

const controllerRevisionSchema = v.object({
  metadata: v.object({ ownerReferences: v.optional(v.array(v.object({ uid: v.string() }))) }),
  data: v.object({ sync: v.unknown() }),
});
