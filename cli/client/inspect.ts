import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Answer, INSPECTION, type Question, readQuestion, sealedAbout } from '../../shared/api/inspection.ts';
import { FIELD_MANAGERS, INSPECT_ANNOTATION } from '../../shared/api/names.ts';
import type { SyncReport } from '../../shared/api/sync-report.ts';
import { openAnswer } from '../../shared/io/inspection-answer.ts';
import { isApiError } from '../../shared/io/kubernetes/api-error.ts';
import { gatewaySyncPath, syncReportPath } from '../../shared/io/kubernetes/resource-path.ts';
import { drawKeys, type QuestionKeys } from '../../shared/io/sealed-box.ts';
import type { Access } from './connect.ts';
import { attempt } from './explain.ts';
import { isConflict, patchGatewaySync } from './patch.ts';
import { readPatiently } from './patience.ts';
import { Problem } from './problem.ts';
import { getGatewaySync } from './read.ts';

const LOOK_MS = 300;
/** Agents look no longer than that for an answer that nobody waits for any more. */
const SPARE_MS = 15_000;
const JSON_PATCH = 'application/json-patch+json';

/** What is asked, and of which pods: at most {@link INSPECTION.pods}. */
export interface Asking extends Pick<Question, 'kind' | 'pods' | 'ref' | 'commit'> {
  name: string;
  timeoutMs: number;
  /** Called where somebody else's question has to be waited for. */
  onBusy: () => void;
  /** Takes what has to be done before the program ends, and gives what is to be called when it was done. */
  onExit: (leave: () => Promise<void>) => () => void;
}

/** What came of it: an answer, one that is not to be read, or none. */
export type Answered = ReadonlyMap<string, Answer | 'unreadable'>;

/** Asks the agents of pods by an annotation, and waits for their answers. The annotation goes in any case. Throws {@link Problem}. */
export async function askAgents(access: Access, asking: Asking): Promise<Answered> {
  const keys = await drawKeys();
  const deadline = performance.now() + asking.timeoutMs;
  const question = new PostedQuestion(access, asking.name);
  // Before anything is sent: a question may be there before its answer is.
  const left = asking.onExit(() => question.withdraw());
  try {
    const id = await write(access, { asking, key: keys.publicKey, deadline, question });
    return await readAnswers(access, { asking, keys, id, deadline });
  } finally {
    await question.withdraw();
    left();
  }
}

/** The annotation of a question, from the moment at which it is sent. */
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

  /** Writes it on the version of the resource that was read. Throws {@link Problem}, also where it was taken back before. */
  async post(annotation: string, resourceVersion: string | undefined): Promise<void> {
    if (this.#withdrawal) throw new Problem('interrupted');
    const annotations = { [INSPECT_ANNOTATION]: annotation };
    const arrival = patchGatewaySync(this.#access, { name: this.#name, resourceVersion }, { annotations });
    this.#annotation = annotation;
    this.#arrival = arrival.catch(() => {});
    await arrival;
  }

  /** Takes it back, unless another one is there by now, and none is written from then on. What cannot be taken back expires. */
  withdraw(): Promise<void> {
    this.#withdrawal ??= this.#takeBack();
    return this.#withdrawal;
  }

  async #takeBack(): Promise<void> {
    if (this.#annotation === undefined) return;
    // What overtakes it on its way takes nothing back.
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

/** Waits until nobody else's question is there, since an answer is for one person, and gives the id of the one written. */
async function write(access: Access, { asking, key, deadline, question }: Writing): Promise<string> {
  const { name, kind, pods, ref, commit, timeoutMs, onBusy } = asking;
  for (let isFirst = true; ; isFirst = false) {
    const { metadata } = await getGatewaySync(access, name);
    const other = readQuestion(metadata.annotations?.[INSPECT_ANNOTATION]);
    const lifeMs = other ? Date.parse(other.expires) - access.serverTime() : 0;
    // What says that it lasts for longer is no question of ours, and would be in the way for ever.
    if (other && lifeMs > 0 && lifeMs <= INSPECTION.lifeMs) {
      if (isFirst) onBusy();
      if (performance.now() > deadline)
        throw new Problem(`another user is querying the files of ${name} until ${other.expires}: try again later`);
      await sleep(LOOK_MS);
      continue;
    }
    const id = randomUUID();
    const expires = new Date(access.serverTime() + Math.min(timeoutMs + SPARE_MS, INSPECTION.lifeMs)).toISOString();
    const content: Question = { id, kind, pods, ...(ref && { ref }), ...(commit && { commit }), key, expires };
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
  const { name, pods } = asking;
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
    await sleep(LOOK_MS);
  }
}

function readReport(access: Access, pod: string): Promise<SyncReport | undefined> {
  const { client, namespace } = access;
  return attempt(access, { doing: `read SyncReports in the namespace ${namespace}`, namespace }, async () => {
    try {
      return await client.get<SyncReport>(syncReportPath(namespace, pod));
    } catch (error) {
      if (isApiError(error, 404)) return undefined;
      throw error;
    }
  });
}
