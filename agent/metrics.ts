import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { FileCounts } from './plan/summarize-plan.ts';

/** Results of a sync that the metric distinguishes. */
export type SyncResult = 'success' | 'dry_run' | 'error';

/** The agent's metrics, in their own registry. */
export class AgentMetrics {
  readonly registry = new Registry();
  readonly #register = { registers: [this.registry] };
  readonly #syncs = new Counter({
    name: 'sync_agent_syncs_total',
    help: 'Syncs by result: success, dry_run, or error. Checks that find nothing to do are not counted.',
    labelNames: ['result'],
    ...this.#register,
  });
  readonly #duration = new Histogram({
    name: 'sync_agent_sync_duration_seconds',
    help: 'Duration of a sync, from the decision to the last file.',
    buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
    ...this.#register,
  });
  readonly #files = new Counter({
    name: 'sync_agent_files_changed_total',
    help: 'Files by change: added, modified or deleted.',
    labelNames: ['change'],
    ...this.#register,
  });
  readonly #drift = new Counter({
    name: 'sync_agent_drift_total',
    help: 'Files that were changed or removed by other means than the agent, and repaired.',
    ...this.#register,
  });
  readonly #drifted = new Gauge({
    name: 'sync_agent_drifted_files',
    help: 'Files that were changed or removed by other means than the agent, and not repaired.',
    ...this.#register,
  });
  readonly #takenOver = new Gauge({
    name: 'sync_agent_taken_over_ratio',
    help: 'Used share of the limit for files of other programs that the agent keeps; a sync that would exceed 1 is refused.',
    ...this.#register,
  });
  readonly #lastSuccess = new Gauge({
    name: 'sync_agent_last_success_timestamp_seconds',
    help: 'Time when the files were last known to match, in seconds since the epoch.',
    ...this.#register,
  });
  readonly #period = new Gauge({
    name: 'sync_agent_sync_period_seconds',
    help: 'Seconds between two checks of the files; 0 while the agent does not check them (paused, held back, or dry run).',
    ...this.#register,
  });
  readonly #reloads = new Counter({
    name: 'sync_agent_reloads_total',
    help: 'Attempts to notify the gateway of changes, by result: success or error.',
    labelNames: ['result'],
    ...this.#register,
  });
  readonly #fetch = new Histogram({
    name: 'sync_agent_fetch_duration_seconds',
    help: 'Duration of a successful git fetch.',
    buckets: [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    ...this.#register,
  });

  constructor(version: string) {
    new Gauge({
      name: 'sync_agent_info',
      help: 'Always 1; the version is in the label.',
      labelNames: ['version'],
      ...this.#register,
    }).set({ version }, 1);
    // Prometheus sees no increase in a series that starts with its first event.
    for (const result of ['success', 'dry_run', 'error'] satisfies SyncResult[]) this.#syncs.inc({ result }, 0);
    for (const result of ['success', 'error']) this.#reloads.inc({ result }, 0);
  }

  onSync(result: SyncResult, seconds: number): void {
    this.#syncs.inc({ result });
    this.#duration.observe(seconds);
  }

  /** Records that the files match after `files` changed. `repaired` of them had drifted; `drifted` weren't repaired. */
  onInLine({ files, repaired, drifted }: { files: FileCounts; repaired: number; drifted: number }): void {
    const { added, modified, deleted } = files;
    this.#files.inc({ change: 'added' }, added);
    this.#files.inc({ change: 'modified' }, modified);
    this.#files.inc({ change: 'deleted' }, deleted);
    this.#drift.inc(repaired);
    this.#drifted.set(drifted);
    this.#lastSuccess.setToCurrentTime();
  }

  /** Records the used share of the limit for kept files. */
  onTakenOver(share: number): void {
    this.#takenOver.set(share);
  }

  /** Records the interval between checks of the files in seconds; 0 if they aren't checked. */
  onPeriod(seconds: number): void {
    this.#period.set(seconds);
  }

  onReload(result: 'success' | 'error'): void {
    this.#reloads.inc({ result });
  }

  onFetch(seconds: number): void {
    this.#fetch.observe(seconds);
  }
}
