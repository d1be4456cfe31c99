import { version } from '../../shared/version.ts';
import { readLabels } from '../content/read-labels.ts';
import { gatewayNameOf } from '../plan/template-values.ts';
import type { ManifestFile } from '../volume/manifest-file.ts';
import { type Finding, reportStatus } from './report-status.ts';
import { ReportWriter, type ReportWriterOptions } from './report-writer.ts';

export interface ReportsOptions extends ReportWriterOptions {
  labelsFile: string | undefined;
  manifestFile: ManifestFile;
}

/** Adds to every finding who says it and what is on disk, and has it written in the background. */
export class Reports {
  readonly #writer: ReportWriter;
  readonly #options: ReportsOptions;
  readonly #stopping = new AbortController();
  readonly #ended: Promise<void>;

  private constructor(writer: ReportWriter, options: ReportsOptions) {
    this.#writer = writer;
    this.#options = options;
    this.#ended = writer.run(this.#stopping.signal);
  }

  /** Begins by taking over the report of the pod. */
  static async start(options: ReportsOptions): Promise<Reports> {
    const first = await statusOf({ state: 'Pending', message: 'the agent is starting' }, options);
    return new Reports(new ReportWriter(first, options), options);
  }

  /** Resolves when the report is there and belongs to this pod. */
  get ready(): Promise<void> {
    return this.#writer.ready;
  }

  async say(finding: Finding): Promise<void> {
    this.#writer.set(await statusOf(finding, this.#options));
  }

  /** Ends when the last finding is written, or could not be. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#ended;
  }
}

/** Neither a missing label nor a damaged manifest may keep the agent from reporting: a sync says what is wrong. */
async function statusOf(finding: Finding, { identity, labelsFile, manifestFile }: ReportsOptions) {
  const [labels, manifest] = await Promise.allSettled([readLabels(labelsFile), manifestFile.read()]);
  const gateway = gatewayNameOf(identity, labels.status === 'fulfilled' ? labels.value : new Map());
  const applied = manifest.status === 'fulfilled' ? manifest.value.applied : undefined;
  return reportStatus(finding, { identity, gateway, applied, agentVersion: version });
}
