import type {
  ReportedPreview,
  RolloutGateway,
  RolloutInput,
  RolloutState,
} from '../../../../controller/rollout/rollout-input.ts';
import { step } from '../../../../controller/rollout/step.ts';
import type { RolloutSpec } from '../../../../shared/api/rollout.ts';
import { isWithin } from '../../../../shared/domain/waves.ts';

const MINUTE = 60_000;
export const DEADLINE = 15 * MINUTE;
const start = Date.parse('2026-11-22T12:00:00Z');
const releaseOf = (commit: string) => ({ commit, ref: 'main', revision: 'r' });

/** A fleet whose pods keep being replaced, and a controller that reconciles it. */
export class Fleet {
  now = start;
  gateways: RolloutGateway[];
  state: RolloutState | undefined;
  wakeInMs: number | undefined;
  more: Partial<RolloutInput> = {};
  readonly #spec: RolloutSpec;

  constructor(spec: RolloutSpec, fits: readonly (readonly boolean[])[]) {
    this.#spec = spec;
    this.gateways = fits.map((each, index) => this.#gateway(`g${index}`, each, index));
    this.look('A');
  }

  get rollout() {
    return (this.state as RolloutState).rollout;
  }

  /** Names of the admitted gateways in the first wave. */
  get letIn(): string[] {
    const { admitted = '' } = this.rollout.admission[0] ?? {};
    return this.gateways.flatMap(({ name, key, fits }) => (fits[0] && isWithin(key, admitted) ? name : []));
  }

  look(commit = 'B', more: Partial<RolloutInput> = this.more): void {
    this.now += 1_000;
    const { waves = [] } = this.#spec;
    const soakMs = waves.map(({ soak }) => (soak ? Number.parseInt(soak, 10) * MINUTE : 0));
    const { wakeInMs, ...state } = step(this.state, {
      spec: this.#spec,
      wavesHash: 'p',
      gateways: this.gateways,
      soakMs,
      now: this.now,
      wanted: releaseOf(commit),
      inPlace: undefined,
      approved: undefined,
      rollback: undefined,
      retry: undefined,
      window: { isOpen: true, message: '' },
      historyLength: 10,
      deadlineMs: DEADLINE,
      previewIntervalMs: MINUTE,
      previewMs: 0,
      ...more,
    }) as ReturnType<typeof step> & RolloutState;
    Object.assign(this, { state: structuredClone(state), wakeInMs });
  }

  pass(minutes: number): this {
    this.now += minutes * MINUTE;
    return this;
  }

  /** Replaces a gateway with an unready one, until {@link well}. */
  replace(index: number, name = `n${this.now}`): void {
    const { fits } = this.gateways[index] as RolloutGateway;
    this.gateways[index] = { ...this.#gateway(name, fits, index), createdAt: this.now, notReadySince: this.now };
  }

  well(...indexes: number[]): void {
    for (const index of indexes) {
      const { number: rollout, commit, revision } = this.rollout;
      const report = { rollout, commit, revision, state: 'healthy' as const };
      this.gateways[index] = { ...(this.gateways[index] as RolloutGateway), notReadySince: undefined, report };
    }
  }

  /** Makes gateways report a preview of this commit; without `change`, it leaves them unchanged. */
  preview(commit: string, indexes: readonly number[], change?: Partial<ReportedPreview>): void {
    const preview = {
      commit,
      revision: 'r',
      digest: 'd'.repeat(64),
      isUnchanged: !change,
      files: change ? 1 : 0,
      ...change,
    };
    for (const index of indexes)
      this.gateways[index] = { ...(this.gateways[index] as RolloutGateway), previews: true, preview };
  }

  /** Makes it unready, possibly for a moment. */
  blink(index: number): void {
    this.gateways[index] = { ...(this.gateways[index] as RolloutGateway), notReadySince: this.now };
  }

  /** Makes it ready again, and keeps its report. */
  recover(index: number): void {
    const ready = { notReadySince: undefined, readySince: this.now };
    this.gateways[index] = { ...(this.gateways[index] as RolloutGateway), ...ready };
  }

  /** Makes one of its containers exit with an error. */
  crash(index: number): void {
    this.blink(index);
    this.gateways[index] = { ...(this.gateways[index] as RolloutGateway), crashedAt: this.now };
  }

  /** Makes one of its containers exit without an error, and start again. */
  restart(index: number): void {
    const restarted = { restartedAt: this.now, runsSince: this.now, readySince: this.now, notReadySince: undefined };
    this.gateways[index] = { ...(this.gateways[index] as RolloutGateway), ...restarted };
  }

  /** Makes its agent report that it can't have the release. */
  fail(index: number): void {
    const { number: rollout, commit, revision } = this.rollout;
    const report = { rollout, commit, revision, state: 'failed' as const };
    this.gateways[index] = { ...(this.gateways[index] as RolloutGateway), report };
  }

  /** Delivers the release to its disk; it stays unready. */
  hasIt(index: number): void {
    const { number: rollout, commit, revision } = this.rollout;
    const report = { rollout, commit, revision, state: 'busy' as const };
    this.gateways[index] = { ...(this.gateways[index] as RolloutGateway), report };
  }

  #gateway(name: string, fits: readonly boolean[], index: number): RolloutGateway {
    const key = String(10 + index);
    return {
      name,
      key,
      fits,
      createdAt: start - DEADLINE,
      notReadySince: undefined,
      isResting: false,
      isOutdated: false,
      report: undefined,
    };
  }
}

export const canary: RolloutSpec = { waves: [{ name: 'canary' }] };
export const twenty = Array.from({ length: 20 }, () => [true]);
export const all = twenty.map((_, index) => index);
