import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, INSPECTION, type Question, readQuestion, sealedAbout } from '../../shared/api/inspection.ts';
import { FIELD_MANAGERS, INSPECT_ANNOTATION } from '../../shared/api/names.ts';
import type { SyncReport } from '../../shared/api/sync-report.ts';
import { openAnswer } from '../../shared/io/inspection-answer.ts';
import { unlessStatus } from '../../shared/io/kubernetes/api-error.ts';
import { gatewaySyncPath, syncReportPath } from '../../shared/io/kubernetes/resource-path.ts';
import { drawKeys, type QuestionKeys } from '../../shared/io/sealed-box.ts';
import type { Access } from './connect.ts';
import { attempt } from './explain.ts';
import { isConflict, patchGatewaySync } from './patch.ts';
import { readPatiently } from './patience.ts';
import { Problem } from './problem.ts';
import { getGatewaySync } from './read.ts';

const POLL_MS = 300;
/** Extra time that agents spend on a query after the timeout (ms). */
const SPARE_MS = 15_000;
const JSON_PATCH = 'application/json-patch+json';

/** The parts of a query that don't belong to its transport. */
type Asked = Omit<Question, 'id' | 'key' | 'expires'>;

/** A query to pods, at most {@link INSPECTION.pods}. */
export interface Asking {
  name: string;
  question: Asked;
  timeoutMs: number;
  /** Called before waiting for the query of another user. */
  onBusy: () => void;
}

/** Responses by pod; missing if a pod didn't respond. */
export type Answered = ReadonlyMap<string, Answer | 'unreadable'>;

/**
 * Queries the agents of pods with an annotation, waits for their responses, and always removes the annotation. Throws
 * {@link Problem}.
 */
export async function askAgents(access: Access, asking: Asking): Promise<Answered> {
  const keys = await drawKeys();
  const deadline = performance.now() + asking.timeoutMs;
  const { id, annotation } = await write(access, { asking, key: keys.publicKey, deadline });
  try {
    return await readAnswers(access, { asking, keys, id, deadline });
  } finally {
    await withdraw(access, asking.name, annotation);
  }
}

/** Removes the annotation, unless another query replaced it. If that fails, the query expires. */
async function withdraw({ client, namespace }: Access, name: string, annotation: string): Promise<void> {
  const path = `/metadata/annotations/${INSPECT_ANNOTATION.replace('/', '~1')}`;
  const body = [
    { op: 'test', path, value: annotation },
    { op: 'remove', path },
  ];
  const query = { fieldManager: FIELD_MANAGERS.cli };
  const request = { method: 'PATCH' as const, path: gatewaySyncPath(namespace, name), query, body };
  await client.request({ ...request, contentType: JSON_PATCH }).catch(() => {});
}

interface Writing {
  asking: Asking;
  key: string;
  deadline: number;
}

interface Written {
  id: string;
  annotation: string;
}

/** Waits until no other query is active, because a response is encrypted for one user, and returns the written one. */
async function write(access: Access, { asking, key, deadline }: Writing): Promise<Written> {
  const { name, question: asked, timeoutMs, onBusy } = asking;
  for (let isFirst = true; ; isFirst = false) {
    const { metadata } = await getGatewaySync(access, name);
    const other = readQuestion(metadata.annotations?.[INSPECT_ANNOTATION]);
    const lifeMs = other ? Date.parse(other.expires) - access.serverTime() : 0;
    // A query with a longer lifetime isn't from this plugin, and could block others forever.
    if (other && lifeMs > 0 && lifeMs <= INSPECTION.lifeMs) {
      if (isFirst) onBusy();
      if (performance.now() > deadline)
        throw new Problem(
          `another user is querying the files of ${name} until ${other.expires}: try again later`,
          'Busy',
        );
      await sleep(POLL_MS);
      continue;
    }
    const id = randomUUID();
    const expires = new Date(access.serverTime() + Math.min(timeoutMs + SPARE_MS, INSPECTION.lifeMs)).toISOString();
    const annotation = JSON.stringify({ id, ...asked, key, expires } satisfies Question);
    try {
      const { resourceVersion } = metadata;
      await patchGatewaySync(access, { name, resourceVersion }, { annotations: { [INSPECT_ANNOTATION]: annotation } });
      return { id, annotation };
    } catch (error) {
      if (isConflict(error) && performance.now() <= deadline) continue;
      // A request without a response may have arrived.
      await withdraw(access, name, annotation);
      throw error;
    }
  }
}

interface Reading {
  asking: Asking;
  keys: QuestionKeys;
  id: string;
  deadline: number;
}

async function readAnswers(access: Access, { asking, keys, id, deadline }: Reading): Promise<Answered> {
  const {
    name,
    question: { pods },
  } = asking;
  const { namespace } = access;
  const answers = new Map<string, Answer | 'unreadable'>();
  for (;;) {
    for (const pod of pods.filter((each) => !answers.has(each))) {
      const report = await readPatiently(deadline, () => readReport(access, pod));
      const inspection = report?.status?.inspection;
      if (inspection?.id !== id) continue;
      const about = sealedAbout({ namespace, crName: name, pod, id });
      answers.set(pod, (await openAnswer(inspection.sealed, { keys, about })) ?? 'unreadable');
    }
    if (answers.size === pods.length || performance.now() > deadline) return answers;
    await sleep(POLL_MS);
  }
}

function readReport(access: Access, pod: string): Promise<SyncReport | undefined> {
  const { client, namespace } = access;
  return attempt(access, { doing: `read SyncReports in the namespace ${namespace}`, namespace }, () =>
    unlessStatus(404, client.getAs<SyncReport>(syncReportPath(namespace, pod))),
  );
}
