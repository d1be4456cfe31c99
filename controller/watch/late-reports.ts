import { setTimeout as sleep } from 'node:timers/promises';
import type { SyncReport } from '../../shared/api/sync-report.ts';
import type { KubernetesClient } from '../../shared/io/kubernetes/client.ts';
import { listObjects } from '../../shared/io/kubernetes/list.ts';
import type { ObjectKey } from '../../shared/io/kubernetes/reflector.ts';
import { syncReportPath } from '../../shared/io/kubernetes/resource-path.ts';
import type { Logger } from '../../shared/log.ts';

export interface LateReportsOptions {
  client: KubernetesClient;
  /** Whether a report is still left out. */
  isLeftOut: (key: ObjectKey) => boolean;
  onReport: (report: SyncReport) => void;
  log: Logger;
}

const PERIOD_MS = 1_000;

/** Reads reports again that came before their pods: two watches keep no order. */
export class LateReports {
  readonly #options: LateReportsOptions;
  readonly #keys = new Set<ObjectKey>();

  constructor(options: LateReportsOptions) {
    this.#options = options;
  }

  add(key: ObjectKey): void {
    this.#keys.add(key);
  }

  /** Reads until the signal aborts, one after the other; never throws. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#readAll(signal);
      await sleep(PERIOD_MS, undefined, { signal }).catch(() => {});
    }
  }

  /** What cannot be read has its turn again after all others. */
  async #readAll(signal: AbortSignal): Promise<void> {
    for (const key of [...this.#keys]) {
      if (signal.aborted) return;
      this.#keys.delete(key);
      try {
        if (this.#options.isLeftOut(key)) await this.#read(key, signal);
      } catch (error) {
        if (signal.aborted) return;
        this.#keys.add(key);
        this.#options.log.warn({ err: error, key }, 'report not read again');
        return;
      }
    }
  }

  /** A list of one: the right to list is there anyway. */
  async #read(key: ObjectKey, signal: AbortSignal): Promise<void> {
    const { client, onReport } = this.#options;
    const [namespace = '', name = ''] = key.split('/');
    const query = { fieldSelector: `metadata.name=${name}` };
    await listObjects<SyncReport>(client, syncReportPath(namespace), { query, pageSize: 1, signal }, onReport);
  }
}
