import { type Answer, INSPECTION, type Question, readQuestion, sealedAbout } from '../../shared/api/inspection.ts';
import type { SyncReportStatus } from '../../shared/api/sync-report.ts';
import { timerMs } from '../../shared/domain/text/duration.ts';
import { sealAnswer } from '../../shared/io/inspection-answer.ts';
import type { Logger } from '../../shared/log.ts';
import type { Identity } from '../plan/template-values.ts';
import { describeFailure } from '../report/describe-failure.ts';
import type { WatchedResource } from '../resource/watch-resource.ts';
import type { Job } from '../sync/job-queue.ts';

export interface InspectorOptions {
  identity: Identity;
  /** Inspects without changing anything. */
  inspect: (question: Question, resource: WatchedResource, signal: AbortSignal) => Promise<Answer>;
  /** Removes leftovers of an inspection, after its result was handed over. */
  tidy: (resource: WatchedResource, signal: AbortSignal) => Promise<void>;
  /** Writes the result to the pod's report, or removes it. */
  show: (inspection: SyncReportStatus['inspection']) => void;
  /** Time of the API server (ms since the epoch), which the expiry of questions refers to. */
  serverTime: () => number;
  /** Called when there is something to do. */
  onDue: () => void;
  log: Logger;
}

/**
 * Minimum times between the starts of two inspections (ms), so that clients can't keep the gateway busy. A part of a file
 * needs no scan: it is read and sealed within a tenth of a second, and the API server gets at most 256 KiB a second.
 */
const APART_MS = { scan: 5_000, part: 1_000 };
const LOOK_MS = 60_000;
/** Maximum length of a problem in a result. */
const PROBLEM_LENGTH = 2_000;

/** Runs inspections of the gateway's files, one at a time, and withdraws expired results. */
export class Inspector implements Job {
  readonly name = 'inspection';
  readonly #options: InspectorOptions;
  #resource: WatchedResource | undefined;
  #question: Question | undefined;
  /** The last question that was processed, and the one whose result is shown. */
  #answered: string | undefined;
  #shown: string | undefined;
  #startedAt = Number.NEGATIVE_INFINITY;
  #scannedAt = Number.NEGATIVE_INFINITY;
  #expiry: NodeJS.Timeout | undefined;

  constructor(options: InspectorOptions) {
    this.#options = options;
  }

  /** Records the resource and the question in it. */
  onResource(resource: WatchedResource | undefined): void {
    this.#resource = resource;
    const question = this.#forUs(readQuestion(resource?.inspect));
    if (question?.id === this.#question?.id) return;
    this.#question = question;
    clearTimeout(this.#expiry);
    if (this.#shown !== question?.id) this.#show(undefined);
    if (!question) return;
    const lifeMs = Math.min(Date.parse(question.expires) - this.#options.serverTime(), INSPECTION.lifeMs);
    this.#expiry = setTimeout(() => this.#end(question), timerMs(lifeMs)).unref();
    this.#options.onDue();
  }

  get dueMs(): number {
    if (!this.#question || this.#question.id === this.#answered) return Number.POSITIVE_INFINITY;
    const isPart = this.#question.kind === 'content';
    const dueAt = Math.max(this.#startedAt + APART_MS.part, isPart ? 0 : this.#scannedAt + APART_MS.scan);
    return Math.max(0, dueAt - performance.now());
  }

  async run(signal: AbortSignal): Promise<void> {
    const question = this.#question;
    const resource = this.#resource;
    if (!question || this.dueMs > 0 || !resource) return;
    this.#startedAt = performance.now();
    if (question.kind !== 'content') this.#scannedAt = this.#startedAt;
    const answer = await this.#answer(question, resource, signal);
    if (answer) await this.#say(answer, question);
    if (question.kind !== 'diff' || signal.aborted) return;
    await this.#options.tidy(resource, signal).catch((err) => {
      if (!signal.aborted) this.#options.log.warn({ err }, 'clone not tidied after an inspection');
    });
  }

  async #say(answer: Answer, question: Question): Promise<void> {
    if (this.#question !== question) return;
    this.#answered = question.id;
    try {
      const { namespace, crName, podName: pod } = this.#options.identity;
      const about = sealedAbout({ namespace, crName, pod, id: question.id });
      const sealed = await sealAnswer(answer, { to: question.key, about });
      if (this.#question === question) this.#show({ id: question.id, sealed });
    } catch (err) {
      this.#options.log.warn({ err, question: question.id }, 'inspection not sealed'); // the key is invalid
    }
  }

  /** Returns undefined if a sync takes precedence; the question is then retried. */
  async #answer(question: Question, resource: WatchedResource, signal: AbortSignal): Promise<Answer | undefined> {
    const { inspect, log } = this.#options;
    const { id, kind, ref } = question;
    const timeout = AbortSignal.timeout(LOOK_MS);
    const none = { changes: [], more: 0 };
    try {
      const answer = await inspect(question, resource, AbortSignal.any([signal, timeout]));
      log.info(
        { question: id, kind, ref, commit: answer.commit, changes: answer.changes.length },
        'inspection finished',
      );
      return answer;
    } catch (err) {
      if (signal.aborted) return undefined;
      log.warn({ err, question: id, kind, ref }, 'inspection failed');
      if (timeout.aborted)
        return { problem: `the inspection of the files took longer than ${LOOK_MS / 1000} s`, ...none };
      return { problem: describeFailure(err).message.slice(0, PROBLEM_LENGTH), ...none };
    }
  }

  #forUs(question: Question | undefined): Question | undefined {
    const isForUs = question?.pods.includes(this.#options.identity.podName);
    return isForUs && Date.parse(question?.expires ?? '') > this.#options.serverTime() ? question : undefined;
  }

  #end(question: Question): void {
    if (this.#question !== question) return;
    this.#question = undefined;
    this.#show(undefined);
  }

  #show(inspection: SyncReportStatus['inspection']): void {
    if (inspection?.id === this.#shown) return;
    this.#shown = inspection?.id;
    this.#options.show(inspection);
  }
}
