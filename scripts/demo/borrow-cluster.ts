import { setTimeout as sleep } from 'node:timers/promises';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { type Definition, readCrds, untilServed } from '../testbed/install-crds.ts';
import { step } from '../testbed/step.ts';
import { type Brought, bring, find, MARK, mayBeUnderWay, type Thing } from './brought.ts';
import { giveBack } from './give-back.ts';
import { installedOperators, isInstalled, watches } from './installed-operators.ts';
import { NAMESPACE, namespaceObject } from './objects.ts';

/** Time that a cluster gets to remove what is being removed. */
const GONE_WITHIN_MS = 60_000;

const namespace: Thing = { kind: 'namespace', name: NAMESPACE };

const isThere = `the namespace ${NAMESPACE} is there already: remove it, or choose another context. Nothing was changed`;

function mayBeBusy(mark: string): string {
  const [host, , pid] = mark.split(' ');
  return `a demo may be under way in the namespace ${NAMESPACE} (process ${pid} on ${host}): wait for its end, or choose another context. If it was cut off, remove the namespace, and the CRDs if nobody uses them. Nothing was changed`;
}

/**
 * Brings into somebody's cluster what the demo needs, and notes it as it comes: the namespace first, which only one of two
 * demos can create, then the CRDs. Those that are there stay as they are: Helm would not take over what somebody else
 * wrote. Throws, in words, where an operator would handle the demo's resource as well, or the namespace is somebody's.
 */
export async function borrowCluster(client: KubernetesClient, brought: Brought, signal: AbortSignal): Promise<void> {
  await refuseOperators(client);
  await removeLeftovers(client, signal);
  signal.throwIfAborted();
  if (!(await bring(client, brought, namespace, namespaceObject))) throw new Error(isThere);
  signal.throwIfAborted();
  await step('Installing the CRDs', () => bringCrds(client, brought, signal));
}

/** Where we may not look, there are none. */
async function refuseOperators(client: KubernetesClient): Promise<void> {
  const operators = await installedOperators(client).catch((error) => {
    if (isApiError(error, 403)) return [];
    throw error;
  });
  const other = operators.find((operator) => watches(operator, NAMESPACE));
  if (!other) return;
  throw new Error(
    `${isInstalled(other)} and watches the namespace ${NAMESPACE}, so two controllers would handle the demo's resource. Nothing was changed. To see it work there, follow docs/tutorials/getting-started.md from its second step; for the demo, choose another context, or none`,
  );
}

/** Removes what an interrupted demo left. Throws where the namespace is somebody's, or of a demo that may be under way. */
async function removeLeftovers(client: KubernetesClient, signal: AbortSignal): Promise<void> {
  const found = await find(client, namespace);
  if (!found) return;
  const mark = found.metadata.annotations?.[MARK];
  if (!mark) throw new Error(isThere);
  if (!found.metadata.deletionTimestamp) {
    if (mayBeUnderWay(mark)) throw new Error(mayBeBusy(mark));
    const things = [namespace, ...(await crdsOf(client, mark))];
    const { sentences, isComplete } = await giveBack(client, { mark, things, found: [] });
    if (!isComplete) throw new Error(`an earlier demo was interrupted. ${sentences.join(' ')}`);
  }
  await step(`Removing the namespace ${NAMESPACE} of an earlier demo`, () => untilGone(client, namespace, signal));
}

async function crdsOf(client: KubernetesClient, mark: string): Promise<Thing[]> {
  const things = (await readCrds()).map(({ metadata: { name } }): Thing => ({ kind: 'CRD', name }));
  const found = await Promise.all(things.map((thing) => find(client, thing)));
  return things.filter((_, index) => found[index]?.metadata.annotations?.[MARK] === mark);
}

async function untilGone(client: KubernetesClient, thing: Thing, signal: AbortSignal): Promise<void> {
  for (const deadline = Date.now() + GONE_WITHIN_MS; await find(client, thing); ) {
    if (Date.now() > deadline) throw new Error(`the ${thing.kind} ${thing.name} is still there after a minute`);
    await sleep(200, undefined, { signal });
  }
}

/** All are waited for, also if one fails: nothing is under way when the cluster is given back. */
async function bringCrds(client: KubernetesClient, brought: Brought, signal: AbortSignal): Promise<void> {
  const definitions = await readCrds();
  const outcomes = await Promise.allSettled(
    definitions.map((definition) => bringCrd(client, brought, definition, signal)),
  );
  const failed = outcomes.find(({ status }) => status === 'rejected');
  if (failed) throw (failed as PromiseRejectedResult).reason;
}

async function bringCrd(
  client: KubernetesClient,
  brought: Brought,
  definition: Definition,
  signal: AbortSignal,
): Promise<void> {
  const thing: Thing = { kind: 'CRD', name: definition.metadata.name };
  if ((await find(client, thing))?.metadata.deletionTimestamp) await untilGone(client, thing, signal);
  if (!(await bring(client, brought, thing, definition))) brought.found.push(thing);
  await untilServed(client, thing.name, signal);
}
