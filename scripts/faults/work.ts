import { setTimeout as sleep } from 'node:timers/promises';
import type { GatewaySync } from '../../shared/api/gateway-sync.ts';
import { REQUEST_ANNOTATIONS, ROLLOUT_ANNOTATIONS } from '../../shared/api/names.ts';
import type { RolloutStatus } from '../../shared/api/rollout.ts';
import type { SyncRelease } from '../../shared/api/sync-release.ts';
import { changesToApprove } from '../../shared/domain/rollout/approvals.ts';
import { nextOf, releaseOf } from '../../shared/domain/rollout/releases.ts';
import { corePath, syncReleasePath } from '../../shared/io/kubernetes/resource-path.ts';
import { APART_MS } from './intents.ts';
import { gatewaysOf } from './invariants/sample.ts';
import type { PlannedWork, WorkKind } from './plan.ts';
import { type Effect, syncSpecOf } from './world/files.ts';
import { GIT_SECRET } from './world/make-fleet.ts';
import type { Resource } from './world/resource.ts';
import type { World } from './world/world.ts';

let names = 0;

/** Does planned work to the end, regardless of delays by faults. */
export async function doWork(world: World, { kind, target, choice }: PlannedWork): Promise<void> {
  const resource = world.resources[target % world.resources.length] as Resource;
  await work[kind](world, resource, choice);
}

type Work = (world: World, resource: Resource, choice: number) => Promise<void>;

const work: Record<WorkKind, Work> = {
  push: (...given) => push(...given),
  'force-push': (...given) => push(...given, { isForced: true }),
  'push what breaks gateways': (...given) => push(...given, { effect: 'breaks' }),
  'push what changes nothing': (...given) => push(...given, { effect: 'changes nothing' }),
  'push what is invalid': (...given) => push(...given, { effect: 'is invalid' }),
  release: async (world, resource, choice) => {
    const ref = await newTag(resource);
    const intent = resource.intents.begin(ref, Date.now());
    const tip = resource.known.tips.length - 1;
    const payload = { action: 'published', release: { tag_name: ref, draft: false, prerelease: false } };
    const answer = await post(world, resource, choice, 'release', payload);
    if (answer === 'stored') {
      intent.stored(Date.now());
      resource.mainWasAskedFor(tip);
    } else if (answer === 'unknown') intent.unknown(Date.now());
    else if (answer === 'refused') intent.refused();
  },
  'request by hand': async (world, resource) => {
    const ref = await newTag(resource);
    const body = { metadata: { annotations: { [REQUEST_ANNOTATIONS.requestedRef]: ref } } };
    await edit(world, resource, { ref, fieldManager: 'kubectl-annotate', body });
  },
  'edit the ref': async (world, resource) => {
    const { tags } = resource.known;
    const ref = resource.ref === 'main' ? ([...tags.keys()].at(-1) ?? (await newTag(resource))) : 'main';
    resource.ref = ref;
    const tip = resource.known.tips.length - 1;
    await edit(world, resource, { ref, fieldManager: 'kubectl-edit', body: { spec: { git: { ref } } } });
    resource.mainWasAskedFor(tip);
  },
  'edit the mappings': async ({ plane }, resource, choice) => {
    resource.mapping = { hasExtra: choice % 2 === 0, excludes: choice % 3 === 0 };
    const body = [{ op: 'replace', path: '/spec/sync', value: syncSpecOf(resource.mapping) }];
    const patch = { method: 'PATCH', contentType: 'application/json-patch+json', body } as const;
    await plane.ask({ ...patch, path: resource.path, query: { fieldManager: 'mappings' } });
  },
  pause: ({ plane }, { path }) => plane.merge(path, { spec: { paused: true } }),
  resume: ({ plane }, { path }) => plane.merge(path, { spec: { paused: false } }),
  'approve or retry': (world, resource) => letRolloutGoOn(world, resource),
  'rotate the webhook secret': ({ senders }) => senders.rotate(),
  'rotate the git token': ({ plane, hosts, gateways }) =>
    hosts.rotateToken(async () => {
      const secret = corePath('secrets', GIT_SECRET.namespace, GIT_SECRET.name);
      await plane.merge(secret, { stringData: { token: hosts.token() } });
      for (const gateway of gateways) await gateway.updateToken?.();
    }),
};

/** Only waves keep a bad commit from all gateways. Gateways of a resource with waves can be checked. */
const hasWaves = (world: World, resource: Resource): boolean =>
  gatewaysOf(world, resource).some(({ port }) => port !== undefined);

/** A bad commit never reaches all gateways, so users request another one. */
export async function replaceBadCommit(world: World, resource: Resource): Promise<void> {
  if (!resource.possibleCommits().some((commit) => resource.known.bad.has(commit))) return;
  await resource.known.commit();
  // Late enough that it can't be taken for an older request.
  await sleep(APART_MS + 500);
  await work['request by hand'](world, resource, 0);
}

/** Approves waves that wait for it, and retries commits that failed, as the owner of a rollout would. */
export async function letRolloutGoOn({ plane }: World, { path, namespace }: Resource): Promise<void> {
  const { status } = await plane.ask<GatewaySync>({ path });
  const { phase, commit = null, waitsFor, handled = {} } = status?.rollout ?? {};
  if (status?.rollout && waitsFor === 'Approval') await approve(plane, namespace, status.rollout);
  const isGivenUp = phase === 'Stopped' || phase === 'RolledBack' || waitsFor === 'Retry';
  // An annotation that was already handled has to be removed before it is set again.
  const value = handled.retry === commit ? null : commit;
  if (isGivenUp) await plane.merge(path, { metadata: { annotations: { [ROLLOUT_ANNOTATIONS.retry]: value } } });
}

/** Approves the changes of the release that waits, as they are shown. */
async function approve(plane: World['plane'], namespace: string, rollout: RolloutStatus): Promise<void> {
  const waiting = nextOf(rollout) ?? releaseOf(rollout);
  const changes = changesToApprove(waiting, rollout, { hasPreviews: true });
  if (waiting.release === undefined || changes === undefined) return;
  const path = syncReleasePath(namespace, waiting.release);
  const { approvals = [] } = await plane.ask<SyncRelease>({ path });
  if (approvals.some((each) => each.changes === changes)) return;
  await plane.merge(path, { approvals: [...approvals, { changes, by: 'owner', at: new Date().toISOString() }] });
}

async function push(
  world: World,
  resource: Resource,
  choice: number,
  { isForced = false, effect = 'changes' }: { isForced?: boolean; effect?: Effect } = {},
): Promise<void> {
  const isBad = effect === 'breaks' || effect === 'is invalid';
  const allowed = isBad && !hasWaves(world, resource) ? 'changes' : effect;
  const after = await resource.known.commit({ isForced, effect: allowed });
  const tip = resource.known.tips.length - 1;
  const answer = await post(world, resource, choice, 'push', { ref: 'refs/heads/main', after });
  if (answer === 'stored') resource.mainWasAskedFor(tip);
}

const post = ({ senders }: World, { namespace, name }: Resource, choice: number, event: string, payload: object) =>
  senders.post(choice, { target: `${namespace}/${name}`, event, payload });

/** Creates a tag with a new name, because an existing name would be no change. */
async function newTag({ known }: Resource): Promise<string> {
  names += 1;
  const name = `v1.0.${names}`;
  await known.tag(name);
  return name;
}

interface Edit {
  ref: string;
  fieldManager: string;
  body: object;
}

/** Retries an edit until it succeeds, as users do. */
async function edit({ plane }: World, resource: Resource, { ref, fieldManager, body }: Edit): Promise<void> {
  const intent = resource.intents.begin(ref, Date.now());
  await plane.merge(resource.path, body, fieldManager);
  intent.stored(Date.now());
}
