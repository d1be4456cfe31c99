import * as v from 'valibot';
import { BOUNDS } from '../../shared/api/bounds.ts';
import { GATEWAY_SYNC, GROUP, SYNC_RELEASE } from '../../shared/api/group.ts';
import { isNamespaceName, isObjectName } from '../../shared/domain/kubernetes/object-name.ts';
import type { Access } from '../client/connect.ts';
import { placeOf } from '../client/connect.ts';
import { attempt } from '../client/explain.ts';
import { Problem } from '../client/problem.ts';
import { getGatewaySync, listEvents } from '../client/read.ts';
import type { PlanSummary } from '../fleet/plan-summary.ts';
import { type TraceView, traceView } from '../fleet/trace.ts';
import { carryOut } from '../orders/carry-out.ts';
import { agreementOf } from '../orders/order-effect.ts';
import type { Mirror } from './mirror.ts';
import { effectOfVerb, VERBS } from './verbs.ts';
import { planIn } from './views.ts';

const text = (characters: number) => v.pipe(v.string(), v.maxLength(characters));

/** Names become parts of URL paths. */
const placeSchema = v.object({ namespace: v.pipe(v.string(), v.check(isNamespaceName)) });
const addressSchema = v.object({ ...placeSchema.entries, name: v.pipe(v.string(), v.check(isObjectName)) });

const wishSchema = v.object({
  ...addressSchema.entries,
  verb: v.picklist(VERBS),
  /** Name of a release, for `rollback`. */
  to: v.optional(text(BOUNDS.releaseName)),
});

const orderSchema = v.object({ ...wishSchema.entries, agreed: text(64) });

/** Content of the confirmation dialog. */
export type Proposal =
  | { kind: 'done'; says: string; place: string }
  /** The page returns `agreed` with the order, and shows the plan of a commit to approve. */
  | { kind: 'change'; says: string; place: string; agreed: string; plan?: PlanSummary };

/** Permissions of the caller in a namespace. */
export interface Rights {
  /** Permission to patch GatewaySyncs. */
  mayChange: boolean;
  /** Permission to patch SyncReleases, which is required to approve them. */
  mayApprove: boolean;
}

/** Runs commands for the page, with the same messages and permissions. */
export class Desk {
  readonly #access: Access;
  readonly #mirror: Pick<Mirror, 'beyond'>;

  constructor(access: Access, mirror: Pick<Mirror, 'beyond'>) {
    this.#access = access;
    this.#mirror = mirror;
  }

  /** Plans the effect of a verb. Throws `Problem`. */
  async plan(body: unknown): Promise<Proposal> {
    const { verb, namespace, name, to } = parse(wishSchema, body);
    const access = this.#in(namespace);
    const place = placeOf(access);
    const gatewaySync = await getGatewaySync(access, name);
    const beyond = this.#mirror.beyond(namespace);
    const effect = effectOfVerb(verb, to)(gatewaySync, beyond);
    const { says } = effect;
    if (effect.kind === 'done') return { kind: 'done', says, place };
    const plan = verb === 'approve' ? planIn(gatewaySync, beyond) : {};
    return { kind: 'change', says, place, agreed: agreementOf(effect), ...plan };
  }

  /** Makes exactly the confirmed change, or none. Throws `Problem`. */
  async carryOut(body: unknown): Promise<object> {
    const { verb, namespace, name, to, agreed } = parse(orderSchema, body);
    const read = async () => this.#mirror.beyond(namespace);
    await carryOut(this.#in(namespace), { name, effectOf: effectOfVerb(verb, to), read, agreed });
    return { says: 'done' };
  }

  /** Returns the last delivery; without one, `trace` is missing. Throws `Problem`. */
  async trace(address: unknown): Promise<{ trace?: TraceView }> {
    const { namespace, name } = parse(addressSchema, address);
    const access = this.#in(namespace);
    const gatewaySync = await getGatewaySync(access, name);
    const trace = traceView(gatewaySync, await listEvents(access, gatewaySync));
    return trace ? { trace } : {};
  }

  /** Checks whether the caller can change GatewaySyncs of a namespace, and approve releases. Throws `Problem`. */
  async rights(place: unknown): Promise<Rights> {
    const { namespace } = parse(placeSchema, place);
    const [mayChange, mayApprove] = await Promise.all([
      this.#mayPatch(GATEWAY_SYNC.plural, namespace),
      this.#mayPatch(SYNC_RELEASE.plural, namespace),
    ]);
    return { mayChange, mayApprove };
  }

  async #mayPatch(resource: string, namespace: string): Promise<boolean> {
    const resourceAttributes = { group: GROUP, resource, verb: 'patch', namespace };
    const body = {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectAccessReview',
      spec: { resourceAttributes },
    };
    const path = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
    const { status } = await attempt(this.#access, { doing: 'check your permissions', namespace }, () =>
      this.#access.client.create<{ status: { allowed: boolean } }>(path, body),
    );
    return status.allowed;
  }

  #in(namespace: string): Access {
    return { ...this.#access, namespace };
  }
}

function parse<T extends v.GenericSchema>(schema: T, body: unknown): v.InferOutput<T> {
  const parsed = v.safeParse(schema, body);
  if (!parsed.success) throw new Problem('the request of the page is invalid: reload it', 'PageFailed');
  return parsed.output;
}
