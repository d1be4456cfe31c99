import { isDeepStrictEqual } from 'node:util';
import { BOUNDS } from '../../shared/api/bounds.ts';
import { renderTemplate, type TemplateValues } from '../../shared/domain/files/render-template.ts';
import { messageOf } from '../../shared/domain/text/message-of.ts';
import { codeOf, TerminalError, WaitingError } from '../../shared/errors.ts';
import type { Intent, ReloadRequest, ReloadSignal } from '../resource/judge-resource.ts';
import { type CallLimits, type GatewayClient, gatewayAway } from './gateway-client.ts';
import type { OwnFile } from './own-file.ts';
import { findPreset } from './presets/preset.ts';
import type { ProcessTable } from './process-table.ts';
import { readHeaders } from './read-secrets.ts';
import { newestStart, signalProcess } from './signal-process.ts';
import { syncHeaders } from './sync-headers.ts';

export interface GatewayOptions {
  client: GatewayClient;
  /**
   * A mark next to the manifest: files are changing or changed, and the gateway hasn't been notified yet. It is visible
   * to containers that run as another user.
   */
  pending: OwnFile;
  /** Directory with the values of headers. */
  headersDirectory: string | undefined;
  /** Touches a file by its path in the data volume. A file that the agent creates or created contains the text. */
  touch: (path: string, text: string) => void;
  /** Returns the values of templates. */
  valuesOf: (intent: Intent) => Promise<TemplateValues>;
  processes: ProcessTable;
}

interface AwaitedProcess {
  signal: ReloadSignal;
  /** Start of the newest process, of any name, when the agent first found none of this name (ticks). */
  newAfter: number;
}

/** Delay before checking again for editors (ms). */
const EDITORS_RETRY_MS = 10_000;

/** The gateway in the same pod, as a sync sees it. */
export class Gateway {
  readonly #options: GatewayOptions;
  /** The signal that was sent since the last change of a file. If a request fails, only the requests are repeated. */
  #sentSignal: ReloadSignal | undefined;
  /** A signal for which no process existed after the last change of a file: one that starts later reads the new files. */
  #awaited: AwaitedProcess | undefined;

  constructor(options: GatewayOptions) {
    this.#options = options;
  }

  /** Whether the gateway hasn't been notified of the last changes yet. */
  get isPending(): boolean {
    return this.#options.pending.exists();
  }

  /**
   * Runs before the first change of a file. Throws to defer the change, or else records that the gateway must be
   * notified. If the signal is aborted, throws its reason and records nothing.
   */
  async beforeChange(intent: Intent, signal?: AbortSignal): Promise<void> {
    await this.checkEditors(intent);
    signal?.throwIfAborted();
    this.#sentSignal = undefined;
    this.#awaited = undefined;
    const { preset, requests, touchFile, signal: ofProcess } = intent.reload;
    const isNotified = preset !== 'none' || requests.length > 0 || touchFile !== undefined || ofProcess !== undefined;
    const { pending } = this.#options;
    if (isNotified && !pending.exists()) pending.write('', 0o644);
  }

  /**
   * Notifies the gateway of changes that it doesn't know about yet, and returns whether there were any. If the client
   * throws, the next call sends all requests again, and after a restart also the signal to the process. `signal` aborts
   * a call.
   */
  async catchUp(intent: Intent, signal?: AbortSignal): Promise<boolean> {
    const { reload, commit } = intent;
    const { client, pending, headersDirectory, touch } = this.#options;
    if (!pending.exists()) return false;
    if (reload.touchFile !== undefined) touch(reload.touchFile, `${commit} ${new Date().toISOString()}\n`);
    const call = { timeoutMs: reload.timeoutMs, signal };
    if (reload.readyPath) await this.#checkReady(reload.readyPath, call);
    if (reload.signal) this.#signal(reload.signal);
    await findPreset(reload.preset).reload(client, call);
    for (const request of reload.requests) {
      const { method, path, expectStatus, timeoutMs } = request;
      const headers = { ...(await readHeaders(request, headersDirectory)), ...syncHeaders(intent) };
      const body = await this.#bodyOf(request, intent);
      await client.send({ method, path, expectStatus, headers, body, timeoutMs, signal });
    }
    pending.remove();
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

  async #bodyOf({ method, path, body }: ReloadRequest, intent: Intent): Promise<string | undefined> {
    if (body === undefined) return undefined;
    const rendered = renderTemplate(body, await this.#options.valuesOf(intent), BOUNDS.value);
    if (rendered.kind === 'rendered') return rendered.text;
    throw new TerminalError(`the body of ${method} ${path} in spec.gateway.reload.requests: ${rendered.message}`, {
      code: 'gateway.body',
      reason: 'ReloadRequestInvalid',
    });
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

  /** Throws if a user is editing on the gateway and the profile defers changes in this case. */
  async checkEditors({ reload, profile: { designerSessionPolicy: policy } }: Intent): Promise<void> {
    const { listEditors } = findPreset(reload.preset);
    if (policy === 'proceed' || !listEditors) return;
    const editors = await listEditors(this.#options.client).catch((error) => {
      // A gateway that isn't running has no editors.
      if (error instanceof WaitingError && error.code === 'gateway.down') return [];
      throw error;
    });
    if (editors.length === 0) return;
    const message = `the gateway is being edited (${editors.slice(0, 5).join(', ')}), and designerSessionPolicy is ${policy}`;
    const details = { code: 'gateway.editors', reason: 'DesignerSessionOpen' } as const;
    if (policy === 'wait') throw new WaitingError(message, { ...details, retryAfterMs: EDITORS_RETRY_MS });
    throw new TerminalError(message, details);
  }
}
