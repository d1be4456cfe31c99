import { TerminalError, WaitingError } from '../../shared/errors.ts';
import type { Intent } from '../resource/judge-resource.ts';
import { type CallLimits, type GatewayClient, gatewayAway } from './gateway-client.ts';
import type { OwnFile } from './own-file.ts';
import { findPreset } from './presets/preset.ts';
import { readHeaders } from './read-secrets.ts';

export interface GatewayOptions {
  client: GatewayClient;
  /**
   * A mark next to the manifest: files change or changed, and the gateway was not notified yet. Containers that run as
   * another user can see it.
   */
  pending: OwnFile;
  /** Folder with the values of headers. */
  headersFolder: string | undefined;
  /** Touches a file of the data volume, by its path there; one that it makes, or made before, holds the text. */
  touch: (path: string, text: string) => void;
}

/** Milliseconds between two looks at whether somebody still edits. */
const EDITORS_RETRY_MS = 10_000;

/** The gateway in the same pod, as far as a sync has to do with it. */
export class Gateway {
  readonly #options: GatewayOptions;

  constructor(options: GatewayOptions) {
    this.#options = options;
  }

  /**
   * Comes before the first change of a file: may throw to hold the change back, and notes that there will be news. Throws
   * the signal's reason, and notes nothing, if it aborted.
   */
  async beforeChange(intent: Intent, signal?: AbortSignal): Promise<void> {
    await this.checkEditors(intent);
    signal?.throwIfAborted();
    const { reload } = intent;
    const isNotified = reload.preset !== 'none' || reload.requests.length > 0 || reload.touchFile !== undefined;
    const { pending } = this.#options;
    if (isNotified && !pending.exists()) pending.write('', 0o644);
  }

  /**
   * Notifies the gateway of changes that it does not know of yet, and gives whether there were any. Throws what the
   * client throws; everything is then sent again at the next call, also after a restart. The signal ends a call early.
   */
  async catchUp({ reload, commit }: Intent, signal?: AbortSignal): Promise<boolean> {
    const { client, pending, headersFolder, touch } = this.#options;
    if (!pending.exists()) return false;
    if (reload.touchFile !== undefined) touch(reload.touchFile, `${commit} ${new Date().toISOString()}\n`);
    const call = { timeoutMs: reload.timeoutMs, signal };
    if (reload.readyPath) await this.#checkReady(reload.readyPath, call);
    await findPreset(reload.preset).reload(client, call);
    for (const request of reload.requests) {
      const { method, path, expectStatus, timeoutMs } = request;
      const headers = await readHeaders(request, headersFolder);
      await client.send({ method, path, expectStatus, headers, timeoutMs, signal });
    }
    pending.remove();
    return true;
  }

  async #checkReady(path: string, call: CallLimits): Promise<void> {
    await this.#options.client.send({ method: 'GET', path, ...call }).catch((cause) => {
      if (cause instanceof WaitingError) throw cause;
      throw gatewayAway(`the gateway is not ready yet: ${(cause as Error).message}`, {
        code: 'gateway.notReady',
        cause,
      });
    });
  }

  /** Throws where somebody edits on the gateway, and the profile says that a change is held back then. */
  async checkEditors({ reload, profile: { designerSessionPolicy: policy } }: Intent): Promise<void> {
    const { listEditors } = findPreset(reload.preset);
    if (policy === 'proceed' || !listEditors) return;
    const editors = await listEditors(this.#options.client).catch((error) => {
      // A gateway that does not run has nobody who edits on it.
      if (error instanceof WaitingError && error.code === 'gateway.down') return [];
      throw error;
    });
    if (editors.length === 0) return;
    const message = `the gateway is being edited (${editors.slice(0, 5).join(', ')}), and designerSessionPolicy is ${policy}`;
    const details = { code: 'gateway.editors', reason: 'DesignerSessionOpen' };
    if (policy === 'wait') throw new WaitingError(message, { ...details, retryAfterMs: EDITORS_RETRY_MS });
    throw new TerminalError(message, details);
  }
}
