import { isDeepStrictEqual } from 'node:util';
import { formatDuration } from '../../shared/domain/text/duration.ts';
import { messageOf } from '../../shared/domain/text/message-of.ts';
import { codeOf, TerminalError, WaitingError } from '../../shared/errors.ts';
import type { Logger } from '../../shared/log.ts';
import type { Intent, ReloadSignal } from '../resource/judge-resource.ts';
import { completeRequest, type RequestContext } from './complete-request.ts';
import { type CallLimits, type GatewayClient, gatewayAway } from './gateway-client.ts';
import type { OwnFile } from './own-file.ts';
import { findPreset } from './presets/find-preset.ts';
import type { PresetScope } from './presets/preset.ts';
import type { ProcessTable } from './process-table.ts';
import { newestStart, signalProcess } from './signal-process.ts';

export interface GatewayOptions extends RequestContext {
  client: GatewayClient;
  /**
   * A mark next to the manifest: files are changing or changed, and the gateway hasn't been notified yet. It is visible
   * to containers that run as another user.
   */
  pending: OwnFile;
  /** Touches a file by its path in the data volume. A file that the agent creates or created contains the text. */
  touch: (path: string, text: string) => void;
  processes: ProcessTable;
  /** Returns the paths of the delivered files. */
  delivered: () => Promise<Iterable<string>>;
  log: Logger;
}

interface AwaitedProcess {
  signal: ReloadSignal;
  /** Start of the newest process, of any name, when the agent first found none of this name (ticks). */
  newAfter: number;
}

/** Delay before asking the gateway again whether it can be changed (ms). */
const RETRY_MS = 10_000;

/** The gateway in the same pod, as a sync sees it. */
export class Gateway {
  readonly #options: GatewayOptions;
  /** The signal that was sent since the last change of a file. If a request fails, only the requests are repeated. */
  #sentSignal: ReloadSignal | undefined;
  /** A signal for which no process existed after the last change of a file: one that starts later reads the new files. */
  #awaited: AwaitedProcess | undefined;
  /** Whether files are changing. */
  #isChanging = false;
  /** Why the gateway could read them nevertheless, until it was notified. */
  #holdNote: string | undefined;
  /** Whether the gateway was a standby when it last responded. */
  #isStandby = false;
  /** The release that waits for editors, and since when (monotonic, ms). */
  #edited: { release: string; since: number } | undefined;
  #notes: { preset: string; words: readonly string[] } | undefined;

  constructor(options: GatewayOptions) {
    this.#options = options;
  }

  /** Whether the gateway hasn't been notified of the last changes yet. */
  get isPending(): boolean {
    return this.#options.pending.exists();
  }

  /** Returns what the gateway said about its last notification. */
  notesOf({ reload }: Intent): readonly string[] {
    return this.#notes?.preset === reload.preset ? this.#notes.words : [];
  }

  /** Throws if the gateway gets its files from another gateway, and returns a note if that is unknown. */
  async checkRole({ reload: { preset, timeoutMs } }: Intent, signal?: AbortSignal): Promise<string | undefined> {
    const { isStandby } = findPreset(preset);
    const answer = isStandby ? await isStandby(this.#scope({ timeoutMs, signal })) : false;
    signal?.throwIfAborted();
    this.#isStandby = answer ?? this.#isStandby;
    if (!this.#isStandby) return answer === undefined ? ROLE_UNKNOWN : undefined;
    throw new WaitingError(
      'the gateway is the backup of a redundant pair and gets its files from the master; the agent delivers them after a failover',
      { code: 'gateway.standby', reason: 'Standby', retryAfterMs: RETRY_MS },
    );
  }

  /**
   * Runs before the first of these files changes. Throws to defer the change, or else records that the gateway must be
   * notified, and keeps it from reading files. If the signal is aborted, throws its reason and records nothing.
   */
  async beforeChange(intent: Intent, paths: readonly string[], signal?: AbortSignal): Promise<void> {
    await this.checkEditors(intent, paths, signal);
    const { preset, requests, touchFile, signal: ofProcess } = intent.reload;
    const { pending } = this.#options;
    const note = await findPreset(preset).holdReads?.(this.#scope({ signal }));
    // A gateway that wasn't notified of the last change is still held for that one.
    this.#holdNote = pending.exists() ? undefined : note;
    signal?.throwIfAborted();
    this.#isChanging = true;
    this.#sentSignal = undefined;
    this.#awaited = undefined;
    const isNotified = preset !== 'none' || requests.length > 0 || touchFile !== undefined || ofProcess !== undefined;
    if (isNotified && !pending.exists()) pending.write('', 0o644);
  }

  /** Runs when no more files change. */
  onChanged(): void {
    this.#isChanging = false;
  }

  /** Lets the gateway read files again at once if a change has begun and was undone. */
  async onUndone({ reload: { preset, timeoutMs } }: Intent, signal: AbortSignal): Promise<void> {
    if (!this.#isChanging || signal.aborted) return;
    const { log } = this.#options;
    await findPreset(preset)
      .endHold?.(this.#scope({ timeoutMs, signal }))
      .catch((err) => log.info({ err }, 'gateway reads no files for a moment after a change was undone'));
  }

  #scope(limits: CallLimits): PresetScope {
    const { client, log } = this.#options;
    return { client, log, ...limits };
  }

  /**
   * Notifies the gateway of changes that it doesn't know about yet, and returns whether there were any. If the client
   * throws, the next call sends all requests again, and after a restart also the signal to the process. `signal` aborts
   * a call.
   */
  async catchUp(intent: Intent, signal?: AbortSignal): Promise<boolean> {
    const { reload, commit } = intent;
    const { client, pending, touch } = this.#options;
    if (!pending.exists()) return false;
    const roleNote = await this.checkRole(intent, signal);
    if (reload.touchFile !== undefined) touch(reload.touchFile, `${commit} ${new Date().toISOString()}\n`);
    const call = { timeoutMs: reload.timeoutMs, signal };
    if (reload.readyPath) await this.#checkReady(reload.readyPath, call);
    if (reload.signal) this.#signal(reload.signal);
    const notes = await findPreset(reload.preset).reload(this.#scope(call), this.#options.delivered);
    const words = [this.#holdNote, roleNote, ...notes].filter((note) => note !== undefined);
    this.#notes = { preset: reload.preset, words };
    for (const request of reload.requests) {
      const { timeoutMs } = request;
      await client.send({ ...(await completeRequest(request, intent, this.#options)), timeoutMs, signal });
    }
    pending.remove();
    this.#holdNote = undefined;
    return true;
  }

  #signal(signal: ReloadSignal): void {
    if (isDeepStrictEqual(this.#sentSignal, signal)) return;
    const { processes } = this.#options;
    const awaited = isDeepStrictEqual(this.#awaited?.signal, signal) ? this.#awaited : undefined;
    try {
      signalProcess(signal, processes, awaited?.newAfter);
    } catch (error) {
      if (codeOf(error) === 'gateway.noProcess')
        this.#awaited = awaited ?? { signal, newAfter: newestStart(processes) };
      throw error;
    }
    this.#sentSignal = signal;
  }

  async #checkReady(path: string, call: CallLimits): Promise<void> {
    await this.#options.client.send({ method: 'GET', path, ...call }).catch((cause) => {
      if (cause instanceof WaitingError) throw cause;
      throw gatewayAway(`the gateway is not ready yet: ${messageOf(cause)}`, {
        code: 'gateway.notReady',
        cause,
      });
    });
  }

  /** Throws if a user is editing what these files change and the profile defers changes in this case. */
  async checkEditors(intent: Intent, changed: readonly string[], signal?: AbortSignal): Promise<void> {
    const { reload, profile, commit, revision } = intent;
    const { designerSessionPolicy: policy } = profile;
    const { listEditors } = findPreset(reload.preset);
    if (policy === 'proceed' || !listEditors) return;
    const delivered = await this.#options.delivered();
    const editors = await listEditors(this.#scope({ signal }), { delivered, changed }).catch((error) => {
      // A gateway that isn't running has no editors.
      if (error instanceof WaitingError && error.code === 'gateway.down') return [];
      throw error;
    });
    const release = `${commit} ${revision}`;
    if (this.#edited?.release !== release || editors.length === 0) this.#edited = undefined;
    if (editors.length === 0) return;
    this.#edited ??= { release, since: performance.now() };
    const message = `the gateway is being edited (${editors.slice(0, 5).join(', ')}), and designerSessionPolicy is ${policy}`;
    const details = { code: 'gateway.editors', reason: 'DesignerSessionOpen' } as const;
    if (policy === 'fail') throw new TerminalError(message, details);
    const isLate = performance.now() - this.#edited.since >= reload.designerTimeoutMs;
    if (!isLate) throw new WaitingError(message, { ...details, retryAfterMs: RETRY_MS });
    const late = `${message}; the change has waited for more than ${formatDuration(reload.designerTimeoutMs)}`;
    throw new WaitingError(late, { ...details, code: 'gateway.editorsStay', retryAfterMs: RETRY_MS });
  }
}

const ROLE_UNKNOWN =
  'the gateway did not report its role, so the agent would also deliver files to the backup of a redundant pair';
