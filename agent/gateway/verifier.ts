import { setTimeout as sleep } from 'node:timers/promises';
import { timerMs } from '../../shared/domain/text/duration.ts';
import { messageOf } from '../../shared/domain/text/message-of.ts';
import { WaitingError } from '../../shared/errors.ts';
import type { Logger } from '../../shared/log.ts';
import type { Intent, VerificationSettings, VerifyRequest } from '../resource/judge-resource.ts';
import { completeRequest, type RequestContext, renderText, type SpecRequest } from './complete-request.ts';
import type { GatewayClient } from './gateway-client.ts';
import { judgeAnswer, MAX_ANSWER_BYTES } from './judge-answer.ts';
import { findPreset } from './presets/find-preset.ts';
import {
  holds,
  isSameSubject,
  judgeCheck,
  type Problem,
  startChecks,
  subjectOf,
  type Verification,
  type VerificationResult,
} from './verification.ts';
import type { VerificationFile } from './verification-file.ts';

export interface VerifierOptions extends RequestContext {
  client: GatewayClient;
  results: VerificationFile;
  log: Logger;
}

/** A request of a check. */
type Call = SpecRequest & Pick<VerifyRequest, 'expect'>;

/** A verification in progress. */
interface Run {
  /** The latest intent for the same subject. */
  intent: Intent;
  settings: VerificationSettings;
  words: string | undefined;
  /** Number of updates reported so far. */
  news: number;
  ending: AbortController;
  /** Called when the state has changed. */
  onNews: () => void;
}

/** Limits the reports about a gateway that fails in a different way at each check. */
const MAX_NEWS = 10;
const NOTHING_TO_ASK = 'nothing to probe: specify requests in spec.gateway.verify';

/** Checks in the background whether the gateway is healthy with a commit. */
export class Verifier {
  readonly #options: VerifierOptions;
  #run: Run | undefined;
  #result: VerificationResult | undefined;

  constructor(options: VerifierOptions) {
    this.#options = options;
  }

  /** Runs before the first change of a file: invalidates results about anything else, and about unchanged files. */
  beforeChange(intent: Intent): void {
    const { results } = this.#options;
    const subject = subjectOf(intent);
    const isValid = (result: VerificationResult) =>
      result.state !== 'Unchanged' && isSameSubject(result.subject, subject);
    const kept = results.read();
    if (kept && !isValid(kept)) results.remove();
    if (this.#result && !isValid(this.#result)) this.#result = undefined;
  }

  /**
   * Records that a release changed no file: the gateway isn't checked again, unless it hasn't passed with these files
   * yet. Runs before {@link Verifier.begin}.
   */
  skip(intent: Intent): void {
    if (!intent.verification || this.stateOf(intent)) return;
    const { state = 'Failed' } = this.#result ?? this.#read() ?? {};
    if (state !== 'Failed')
      this.#save({ subject: subjectOf(intent), generation: intent.generation, state: 'Unchanged' });
  }

  /**
   * Starts checks after the files were delivered and the gateway notified, unless they are in progress or a result is
   * still valid. `onNews` is called when {@link Verifier.stateOf} has changed.
   */
  begin(intent: Intent, onNews: () => void): void {
    this.keepOnly(intent);
    if (!intent.verification || this.stateOf(intent)) return;
    const kept = this.#read();
    if (kept && holds(kept, intent)) {
      this.#result = kept;
      return;
    }
    const ending = new AbortController();
    this.#run = { intent, settings: intent.verification, words: undefined, news: 0, ending, onNews };
    void this.#check(this.#run);
  }

  /** Aborts the verification in progress unless it is about this intent. */
  keepOnly(intent: Intent | undefined): void {
    if (!this.#run) return;
    if (intent && isSameSubject(subjectOf(intent), subjectOf(this.#run.intent))) this.#run.intent = intent;
    else {
      this.#run.ending.abort();
      this.#run = undefined;
    }
  }

  /** Returns the health of the gateway if known; undefined if verification isn't requested or hasn't started. */
  stateOf(intent: Intent): Verification | undefined {
    if (!intent.verification) return undefined;
    const subject = subjectOf(intent);
    if (this.#run && isSameSubject(subject, subjectOf(this.#run.intent))) {
      return { state: 'Running', words: this.#run.words };
    }
    if (!this.#result || !holds(this.#result, intent)) return undefined;
    return { state: this.#result.state, words: this.#result.words };
  }

  /** A result that can't be read is ignored. */
  #read(): VerificationResult | undefined {
    try {
      return this.#options.results.read();
    } catch (error) {
      this.#options.log.warn({ err: error }, 'verification result not read');
      return undefined;
    }
  }

  async #check(run: Run): Promise<void> {
    const { settings, ending } = run;
    let history = startChecks(performance.now());
    for (;;) {
      if (await this.#isStandby(run)) {
        // It isn't judged. The next sync reports that it is a standby, and ends the verification.
        history = startChecks(performance.now());
        await pause(settings.intervalMs, ending.signal);
        continue;
      }
      const atMs = performance.now();
      const problem = await this.#problem(run);
      if (ending.signal.aborted) return;
      const judgement = judgeCheck(history, { atMs, problem }, settings);
      if (judgement.kind !== 'running') {
        this.#end(run, judgement.kind === 'passed' ? { state: 'Passed' } : { state: 'Failed', words: judgement.words });
        return;
      }
      history = judgement.history;
      if (problem?.words !== run.words && run.news < MAX_NEWS) {
        run.words = problem?.words;
        run.news += 1;
        run.onNews();
      }
      // A timer can fire slightly early, which would repeat the last check.
      await pause(Math.ceil(judgement.waitMs) + 1, ending.signal);
      if (ending.signal.aborted) return;
    }
  }

  async #isStandby({ intent, ending: { signal } }: Run): Promise<boolean> {
    const { client, log } = this.#options;
    const { preset, timeoutMs } = intent.reload;
    return (await findPreset(preset).isStandby?.({ client, log, timeoutMs, signal })) ?? false;
  }

  #end(run: Run, { state, words }: Pick<VerificationResult, 'state' | 'words'>): void {
    const { intent, onNews } = run;
    const { log } = this.#options;
    this.#run = undefined;
    const fields = { ref: intent.ref, commit: intent.commit, words };
    if (state === 'Passed') log.info(fields, 'gateway verified');
    else log.warn(fields, 'gateway is not healthy');
    this.#save({ subject: subjectOf(intent), generation: intent.generation, state, words });
    onNews();
  }

  #save(result: VerificationResult): void {
    const { log, results } = this.#options;
    this.#result = result;
    try {
      results.write(result);
    } catch (error) {
      log.warn({ err: error }, 'verification result not saved: after a restart, the agent verifies the gateway again');
    }
  }

  /** Makes all calls of one check, and returns the problem of the first one that failed. */
  async #problem({ intent, settings, ending: { signal } }: Run): Promise<Problem | undefined> {
    const { client } = this.#options;
    const calls = callsOf(intent, settings);
    if (calls.length === 0) return { words: NOTHING_TO_ASK, isBeforeStart: false };
    for (const each of calls) {
      const call = `${each.method} ${each.path}`;
      const wordsOf = (message: string) => (message.includes(call) ? message : `${message} (${call})`);
      try {
        const problem = await this.#ask(each, intent, signal);
        if (problem) return { words: wordsOf(problem), isBeforeStart: false };
      } catch (error) {
        const isDown = error instanceof WaitingError && error.code === 'gateway.down';
        return { words: wordsOf(messageOf(error)), isBeforeStart: isDown && !client.hasAnswered };
      }
    }
    return undefined;
  }

  /** Sends a request, and returns how the response differs from the expected one. */
  async #ask({ expect, ...call }: Call, intent: Intent, signal: AbortSignal): Promise<string | undefined> {
    const { client, valuesOf } = this.#options;
    const request = await completeRequest(call, intent, this.#options);
    const limits = { timeoutMs: intent.reload.timeoutMs, signal, maxBodyBytes: expect ? MAX_ANSWER_BYTES : 0 };
    const { body } = await client.send({ ...request, ...limits });
    if (!expect) return undefined;
    const values = await valuesOf(intent);
    return judgeAnswer(expect, body, (text) => renderText(text, values, `expect of ${call.method} ${call.path}`));
  }
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(timerMs(ms), undefined, { signal }).catch(() => {});

/** Returns the calls of the preset and the spec. If there are none, the path that reports readiness. */
function callsOf({ reload }: Intent, { requests }: VerificationSettings): Call[] {
  const own = requests.map((request) => ({ ...request, method: request.method ?? ('GET' as const) }));
  const calls = [...findPreset(reload.preset).checks, ...own];
  if (calls.length > 0 || !reload.readyPath) return calls;
  return [{ method: 'GET', path: reload.readyPath }];
}
