import { BOUNDS } from '../../shared/api/bounds.ts';
import type { Reason } from '../../shared/api/reasons.ts';
import type { GatewayPreview, SyncReportStatus } from '../../shared/api/sync-report.ts';
import { formatDuration } from '../../shared/domain/text/duration.ts';
import { withoutUndefined } from '../../shared/domain/text/objects.ts';
import { truncate } from '../../shared/domain/text/text.ts';
import { version } from '../../shared/version.ts';
import { readLabels } from '../content/read-labels.ts';
import type { Manifest } from '../plan/manifest.ts';
import { isUnchanged } from '../plan/summarize-preview.ts';
import { gatewayNameOf, type Identity } from '../plan/template-values.ts';
import type { ManifestFile } from '../volume/manifest/manifest-file.ts';
import { ReportWriter, type ReportWriterOptions } from './report-writer.ts';

type Reported = 'state' | 'generation' | 'message' | 'files' | 'changes' | 'rollout' | 'verification' | 'hasFailed';

/** Fields of a report about the files and the gateway. */
export type Finding = Pick<SyncReportStatus, Reported> & { reason?: Reason; durationMs?: number };

export interface ReportContext {
  identity: Identity;
  gateway: string;
  /** The release that is completely on disk, if any. */
  applied: Manifest['applied'];
  agentVersion: string;
}

/** Returns the status of a SyncReport. `ref`, `commit`, `revision`, and `time` always describe the files on disk. */
export function reportStatus(finding: Finding, context: ReportContext): SyncReportStatus {
  const { identity, gateway, applied, agentVersion } = context;
  const { durationMs, message, ...shown } = finding;
  return withoutUndefined({
    podUID: identity.podUid,
    gateway,
    profile: identity.profile,
    crName: identity.crName,
    ...shown,
    ref: applied?.ref,
    commit: applied?.commit,
    time: applied?.time,
    revision: applied?.revision,
    unchangedAt: applied?.unchanged && applied.commit,
    duration: durationMs === undefined ? undefined : formatDuration(durationMs),
    message: message ? truncate(message, BOUNDS.message) : undefined,
    agentVersion,
  });
}

export interface ReportsOptions extends ReportWriterOptions {
  labelsFile: string | undefined;
  manifestFile: ManifestFile;
}

/** Adds the gateway and the release on disk to every finding, and writes it in the background. */
export class Reports {
  readonly #writer: ReportWriter;
  readonly #options: ReportsOptions;
  #status: SyncReportStatus;
  #inspection: SyncReportStatus['inspection'];
  #preview: GatewayPreview | undefined;
  /** Resolves when the last finding was handed to the writer. */
  #saying = Promise.resolve();
  readonly #stopping = new AbortController();
  readonly #ended: Promise<void>;

  private constructor(first: SyncReportStatus, options: ReportsOptions) {
    this.#writer = new ReportWriter(first, options);
    this.#status = first;
    this.#options = options;
    this.#ended = this.#writer.run(this.#stopping.signal);
  }

  /** Starts by taking over the report of the pod. */
  static async start(options: ReportsOptions): Promise<Reports> {
    const first = await statusOf({ state: 'Pending', reason: 'Waiting', message: 'the agent is starting' }, options);
    return new Reports(first, options);
  }

  /**
   * Writes findings in the order of the calls. If a finding is only about the gateway's health, the release remains that
   * of the last report, because files might be moving.
   */
  async say(finding: Finding, { isAboutHealth = false } = {}): Promise<void> {
    const before = this.#saying.catch(() => {}); // its caller has the error
    this.#saying = before.then(async () => {
      const status = await statusOf(finding, this.#options);
      this.#status = isAboutHealth ? { ...status, ...releaseOf(this.#status) } : status;
      this.#write();
    });
    await this.#saying;
  }

  /** Adds the result of an inspection to the report, or removes it. */
  showInspection(inspection: SyncReportStatus['inspection']): void {
    this.#inspection = inspection;
    this.#write();
  }

  /** Adds a preview to the report, or removes it. It isn't shown once its release is in the data volume. */
  showPreview(preview: GatewayPreview | undefined): void {
    this.#preview = preview;
    this.#write();
  }

  /** Removes a preview from the next report. */
  dropPreview(): void {
    this.#preview = undefined;
  }

  #write(): void {
    const status = { ...this.#status };
    const preview = this.#preview;
    if (this.#inspection) status.inspection = this.#inspection;
    if (preview && !(preview.commit === status.commit && preview.revision === status.revision)) {
      status.preview = preview;
      status.unchangedAt = isUnchanged(preview) ? preview.commit : undefined;
    }
    this.#writer.set(withoutUndefined(status));
  }

  /** Resolves when the last finding was written or couldn't be. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#ended;
  }
}

const releaseOf = ({ ref, commit, time, revision, unchangedAt }: SyncReportStatus) => ({
  ref,
  commit,
  time,
  revision,
  unchangedAt,
});

/** Neither a missing label nor a damaged manifest may prevent a report: the sync reports those. */
async function statusOf(finding: Finding, { identity, labelsFile, manifestFile }: ReportsOptions) {
  const [labels, applied] = await Promise.allSettled([readLabels(labelsFile), manifestFile.readApplied()]);
  const gateway = gatewayNameOf(identity, labels.status === 'fulfilled' ? labels.value : new Map());
  const context = { identity, gateway, agentVersion: version };
  return reportStatus(finding, { ...context, applied: applied.status === 'fulfilled' ? applied.value : undefined });
}
