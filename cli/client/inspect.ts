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
  /** Registers a cleanup for an early exit, and returns a function that unregisters it. */
  onExit: (leave: () => Promise<void>) => () => void;
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
  const question = new PostedQuestion(access, asking.name);
  // Registered before the write: an interrupted write may still reach the server.
  const left = asking.onExit(() => question.withdraw());
  try {
    const id = await write(access, { asking, key: keys.publicKey, deadline, question });
    return await readAnswers(access, { asking, keys, id, deadline });
  } finally {
    await question.withdraw();
    left();
  }
}

/** The annotation of a query, from the moment it is sent. */
class PostedQuestion {
  #access: Access;
  #name: string;
  #annotation: string | undefined;
  #arrival: Promise<unknown> = Promise.resolve();
  #withdrawal: Promise<void> | undefined;

  constructor(access: Access, name: string) {
    this.#access = access;
    this.#name = name;
  }

  /**
   * Writes it if the resource has the version that was read. Throws {@link Problem}, even if it was withdrawn before.
   */
  async post(annotation: string, resourceVersion: string | undefined): Promise<void> {
    if (this.#withdrawal) throw new Problem('interrupted', 'Interrupted');
    const annotations = { [INSPECT_ANNOTATION]: annotation };
    const arrival = patchGatewaySync(this.#access, { name: this.#name, resourceVersion }, { annotations });
    this.#annotation = annotation;
    this.#arrival = arrival.catch(() => {});
    await arrival;
  }

  /**
   * Removes it, unless another query replaced it, and prevents later writes. If the removal fails, the query expires.
   */
  withdraw(): Promise<void> {
    this.#withdrawal ??= this.#takeBack();
    return this.#withdrawal;
  }

  async #takeBack(): Promise<void> {
    if (this.#annotation === undefined) return;
    // A removal that overtakes the write has no effect.
    await this.#arrival;
    const { client, namespace } = this.#access;
    const path = `/metadata/annotations/${INSPECT_ANNOTATION.replace('/', '~1')}`;
    const body = [
      { op: 'test', path, value: this.#annotation },
      { op: 'remove', path },
    ];
    const query = { fieldManager: FIELD_MANAGERS.cli };
    const request = { method: 'PATCH' as const, path: gatewaySyncPath(namespace, this.#name), query, body };
    await client.request({ ...request, contentType: JSON_PATCH }).catch(() => {});
  }
}

interface Writing {
  asking: Asking;
  key: string;
  deadline: number;
  question: PostedQuestion;
}

/**
 * Waits until no other query is active, because a response is encrypted for one user, and returns the id of the written
 * one.
 */
async function write(access: Access, { asking, key, deadline, question }: Writing): Promise<string> {
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
    const content: Question = { id, ...asked, key, expires };
    try {
      await question.post(JSON.stringify(content), metadata.resourceVersion);
      return id;
    } catch (error) {
      if (!isConflict(error) || performance.now() > deadline) throw error;
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
