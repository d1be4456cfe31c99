import { isDeepStrictEqual } from 'node:util';
import { Screen } from '../../../cli/terminal/screen.ts';
import type { GatewaySync } from '../../../shared/api/gateway-sync.ts';
import type { SyncReport, SyncReportStatus } from '../../../shared/api/sync-report.ts';
import { syncReportPath } from '../../../shared/io/kubernetes/resource-path.ts';
import { ink, isTerminal } from '../console.ts';
import { follow } from '../follow.ts';
import { NAMESPACE } from '../objects.ts';
import type { Stage } from '../start-stage.ts';
import { drawFrame, drawLine, type Frame, type GatewayPod, type Picture, pictureOf } from './picture.ts';

/** Makes a frame of every change of the GatewaySync or of a report, and shows frames that differ. */
export class RolloutFollower {
  readonly #pods: readonly GatewayPod[];
  #screen = openScreen();
  readonly #reports = new Map<string, SyncReportStatus>();
  #gatewaySync: GatewaySync | undefined;
  #picture: Picture | undefined;
  #startedAt = 0;
  /** Earlier frames aren't shown. */
  #before = Number.POSITIVE_INFINITY;
  #frames: Frame[] = [];
  #onFrame: (frame: Frame) => void = () => {};

  constructor(pods: readonly GatewayPod[]) {
    this.#pods = pods;
  }

  /** Follows until the signal aborts. */
  run({ cluster: { client }, follower }: Stage, signal: AbortSignal): void {
    const end = follower.listen((gatewaySync) => {
      this.#gatewaySync = gatewaySync;
      this.#look();
    });
    signal.addEventListener('abort', end);
    const take = ({ metadata, status }: SyncReport) => {
      if (status) this.#reports.set(metadata.name, status);
      this.#look();
    };
    void follow<SyncReport>(client, { path: syncReportPath(NAMESPACE) }, take, signal);
  }

  /** Starts the clock, and shows the rollouts that begin after this moment. */
  begin(): void {
    this.#startedAt = performance.now();
    this.#before = this.#gatewaySync?.status?.rollout?.number ?? 0;
    this.#frames = [];
  }

  /** Returns the frames since the beginning, once one is accepted. */
  async until(describe: string, accept: (picture: Picture) => boolean, timeoutMs = 60_000): Promise<Frame[]> {
    const found = Promise.withResolvers<void>();
    const timer = setTimeout(() => found.reject(new Error(`${describe}: not within ${timeoutMs / 1000} s`)), timeoutMs);
    this.#onFrame = ({ picture }) => accept(picture) && found.resolve();
    for (const frame of this.#frames) this.#onFrame(frame);
    try {
      await found.promise;
      return this.#frames;
    } finally {
      clearTimeout(timer);
      this.#screen = openScreen();
      this.#onFrame = () => {};
    }
  }

  #look(): void {
    const picture = this.#gatewaySync && pictureOf(this.#gatewaySync, this.#pods, this.#reports);
    if (!picture || picture.number <= this.#before) return;
    if (isDeepStrictEqual(picture, this.#picture)) return;
    this.#picture = picture;
    const frame = { atMs: performance.now() - this.#startedAt, picture };
    this.#frames.push(frame);
    this.#screen.show(drawFrame(frame, ink), drawLine(frame, ink));
    this.#onFrame(frame);
  }
}

/** Opens a screen whose pictures replace each other, or lines without a terminal. */
function openScreen(): Screen {
  const columns = isTerminal ? process.stdout.columns : undefined;
  return new Screen({ print: (text) => void process.stdout.write(text), columns });
}
