import { setTimeout as sleep } from 'node:timers/promises';
import { GATEWAY_SYNC, GROUP, SYNC_REPORT } from '../../shared/api/group.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { groupPath } from '../../shared/io/kubernetes/resource-path.ts';
import { type Definition, isEstablished } from '../testbed/install-crds.ts';
import { type Brought, type BroughtThing, type Found, find, MARK, pathOf } from './brought.ts';
import { installedOperators, isInstalled } from './installed-operators.ts';
import { NAMESPACE } from './objects.ts';

/** How a cluster was given back. */
interface GivenBack {
  /** What was removed, and what stays and why: a sentence for each thing. */
  sentences: string[];
  /** Whether nothing stays that should not. */
  isComplete: boolean;
}

/** Something cannot be removed, for a reason that is none of the demo's failures. */
class Stays extends Error {}

/** How often something is looked at again that changed between the look at it and its deletion. */
const LOOKS = 5;

/**
 * Removes what a run brought: each CRD by itself, then the namespace if nothing else is left to be removed. CRDs stay
 * where somebody uses or changed them by now. Never throws.
 */
export async function giveBack(client: KubernetesClient, { mark, things, found }: Brought): Promise<GivenBack> {
  const sentences: string[] = [];
  let isComplete = true;
  // The namespace goes last: by it the next run finds what could not be removed, or what one that is killed here leaves.
  for (const thing of things.toReversed()) {
    const what = `The ${thing.kind} ${thing.name}`;
    if (thing.kind === 'namespace' && !isComplete) {
      sentences.push(`${what} stays: by it the next run finds the rest, and removes it.`);
      continue;
    }
    try {
      sentences.push(`${what} ${(await remove(client, thing, mark)) ? 'is removed' : 'is not there'}.`);
    } catch (error) {
      const isWanted = error instanceof Stays;
      isComplete &&= isWanted;
      const hint = isWanted
        ? '.'
        : `. To remove it, if nobody uses it: kubectl delete ${thing.kind.toLowerCase()} ${thing.name}`;
      sentences.push(`${what} ${isWanted || thing.uid ? 'stays' : 'may be there'}: ${messageOf(error)}${hint}`);
    }
  }
  for (const { kind, name } of found) sentences.push(`The ${kind} ${name} stays: it was there before.`);
  return { sentences, isComplete };
}

/** Whether it was there. It stays where it is another one of the same name, or is somebody's by now. */
async function remove(client: KubernetesClient, thing: BroughtThing, mark: string): Promise<boolean> {
  for (let look = 1; ; look += 1) {
    const found = await find(client, thing);
    if (!found || (!thing.uid && found.metadata.annotations?.[MARK] !== mark)) return false;
    const { uid, resourceVersion, deletionTimestamp } = found.metadata;
    if (thing.uid && uid !== thing.uid) throw new Stays('somebody created it anew');
    if (deletionTimestamp) return true;
    assertUnchanged(found, mark);
    if (thing.kind === 'CRD') await assertUnused(client, thing.name);
    try {
      await client.delete(pathOf(thing), { body: { preconditions: { uid, resourceVersion } } });
      return true;
    } catch (error) {
      if (isApiError(error, 404)) return false;
      if (!isApiError(error, 409) || look === LOOKS) throw error;
    }
  }
}

/** Throws where somebody replaced an object or changed its spec: the API server counts that, and gives a new one a 1. */
function assertUnchanged({ metadata: { annotations, generation = 1 } }: Found, mark: string): void {
  if (annotations?.[MARK] !== mark || generation > 1) throw new Stays('somebody changed it');
}

/** Throws where a CRD is used by somebody else, or where that cannot be found out. */
async function assertUnused(client: KubernetesClient, crd: string): Promise<void> {
  const [operator] = await installedOperators(client);
  if (operator) throw new Stays(isInstalled(operator));
  // Who has GatewaySyncs needs the SyncReports as well.
  const kinds = crd.startsWith(`${SYNC_REPORT.plural}.`) ? [GATEWAY_SYNC, SYNC_REPORT] : [GATEWAY_SYNC];
  for (const { kind, plural } of kinds) {
    const others = (await listObjects(client, plural)).filter(({ metadata }) => metadata.namespace !== NAMESPACE);
    if (others.length > 0) throw new Stays(`${kind}s outside of ${NAMESPACE} need it (${others.length})`);
  }
}

interface Listed {
  metadata: { namespace: string };
}

/**
 * Objects of a CRD, by a version that it serves; none where it is not there, or never was established. Right after it
 * was, the API server says 404 and then 429 for a moment, which is waited for: that is no word about objects.
 */
async function listObjects(client: KubernetesClient, plural: string): Promise<Listed[]> {
  for (const deadline = Date.now() + 30_000; ; await sleep(200)) {
    const crd = await find<Definition>(client, { kind: 'CRD', name: `${plural}.${GROUP}` });
    if (!crd || !isEstablished(crd)) return [];
    const version = crd.spec.versions.find(({ served }) => served)?.name;
    if (!version) throw new Error(`no version of ${plural} is served, so it is unknown whether there are any`);
    try {
      return (await client.get<{ items: Listed[] }>(groupPath(`${GROUP}/${version}`, plural))).items;
    } catch (error) {
      if (!isApiError(error, 404, 429) || Date.now() > deadline) throw error;
    }
  }
}

/** A broken connection has its words in the error's code, where several addresses were tried. */
function messageOf(error: unknown): string {
  const { message, code } = error as NodeJS.ErrnoException;
  return message || code || String(error);
}
