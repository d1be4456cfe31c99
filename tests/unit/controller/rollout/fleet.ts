import assert from 'node:assert/strict';
import { step } from '../../../../controller/rollout/machine.ts';
import type {
  GatewayReport,
  ReportedPreview,
  RolloutGateway,
  RolloutInput,
} from '../../../../controller/rollout/rollout-input.ts';
import type { RolloutSpec, RolloutStatus } from '../../../../shared/api/rollout.ts';
import type { Approval } from '../../../../shared/api/sync-release.ts';
import { isWithin } from '../../../../shared/domain/rollout/waves.ts';
import { entryOf, shownIn } from './approvals.ts';

const MINUTE = 60_000;
export const DEADLINE = 15 * MINUTE;
const start = Date.parse('2026-11-22T12:00:00Z');
const releaseOf = (commit: string) => ({ commit, ref: 'main', revision: 'r', release: nameOf(commit) });
const nameOf = (commit: string) => `app-${commit.toLowerCase()}`;

/** A fleet whose pods keep being replaced, and a controller that reconciles it. */
export class Fleet {
  now = start;
  gateways: RolloutGateway[];
  state: RolloutStatus | undefined;
  more: Partial<RolloutInput> = {};
  readonly #approvals = new Map<string, Approval[]>();
  readonly #releases = new Map<string, ReturnType<typeof releaseOf>>();
  readonly #spec: RolloutSpec;

  constructor(spec: RolloutSpec, fits: readonly (readonly boolean[])[]) {
    this.#spec = spec;
    this.gateways = fits.map((each, index) => this.#gateway(`g${index}`, each, index));
    this.look('A');
  }

  get rollout() {
    return this.state as RolloutStatus;
  }

  get message(): string {
    return this.rollout.message ?? '';
  }

  /** Names of the admitted gateways in the first wave. */
  get letIn(): string[] {
    const { admitted = '' } = this.rollout.admission[0] ?? {};
    return this.gateways.flatMap(({ name, key, fits }) => (fits[0] && isWithin(key, admitted) ? name : []));
  }

  /** Reconciles a second later. */
  look(commit = 'B', more: Partial<RolloutInput> = this.more): this {
    this.now += 1_000;
    const { waves = [] } = this.#spec;
    const soakMs = waves.map(({ soak }) => (soak ? Number.parseInt(soak, 10) * MINUTE : 0));
    const state = step(this.state, {
      spec: this.#spec,
      wavesHash: 'p',
      gateways: this.gateways,
      soakMs,
      now: this.now,
      newest: releaseOf(commit),
      delivered: undefined,
      approved: this.#approved(commit),
      rollback: undefined,
      retry: undefined,
      window: { isOpen: true, message: '' },
      completed: [],
      deadlineMs: DEADLINE,
      previewIntervalMs: MINUTE,
      previewMs: 0,
      ...more,
    });
    return Object.assign(this, { state: structuredClone(state) });
  }

  /** The releases so far, with their approvals. */
  #approved(commit: string): NonNullable<RolloutInput['approved']> {
    const release = releaseOf(commit);
    this.#releases.set(release.release, release);
    return [...this.#releases].map(([name, each]) => ({
      ...each,
      release: name,
      approvals: this.#approvals.get(name) ?? [],
    }));
  }

  /** Sets parts of the input for all later reconciles. */
  set(more: Partial<RolloutInput>): this {
    this.more = more;
    return this;
  }

  /** Approves what the status shows, for all waves or for one. */
  approve(wave?: string): this {
    const shown = shownIn(this.rollout, Boolean(this.more.previewMs));
    assert.ok(shown, 'there is nothing to approve');
    return this.addApproval(shown.release, entryOf(shown, wave));
  }

  addApproval(release: string, approval: Approval): this {
    this.#approvals.set(release, [...(this.#approvals.get(release) ?? []), approval]);
    return this;
  }

  pass(minutes: number): this {
    this.now += minutes * MINUTE;
    return this;
  }

  change(index: number, changes: Partial<RolloutGateway>): this {
    this.gateways[index] = { ...(this.gateways[index] as RolloutGateway), ...changes };
    return this;
  }

  /** Adds a gateway like another one. */
  join(like: number, changes: Partial<RolloutGateway>): this {
    this.gateways.push({ ...(this.gateways[like] as RolloutGateway), ...changes });
    return this;
  }

  changeAll(changes: Partial<RolloutGateway>): this {
    for (const index of this.gateways.keys()) this.change(index, changes);
    return this;
  }

  /** Removes gateways, from this one on. */
  remove(index: number, count = 1): this {
    this.gateways.splice(index, count);
    return this;
  }

  /** Makes gateways report the release of the rollout in this state. */
  report(indexes: Iterable<number>, state: GatewayReport['state'], changes: Partial<GatewayReport> = {}): this {
    const { number: rollout, commit, revision } = this.rollout;
    for (const index of indexes) this.change(index, { report: { rollout, commit, revision, state, ...changes } });
    return this;
  }

  /** Makes all gateways report the release of the rollout as healthy. */
  reportAll(): this {
    return this.report(this.gateways.keys(), 'healthy');
  }

  /** Replaces a gateway with an unready one, until {@link well}. */
  replace(index: number, name = `n${this.now}`): this {
    const { fits } = this.gateways[index] as RolloutGateway;
    this.gateways[index] = { ...this.#gateway(name, fits, index), createdAt: this.now, notReadySince: this.now };
    return this;
  }

  well(...indexes: number[]): this {
    for (const index of indexes) this.change(index, { notReadySince: undefined });
    return this.report(indexes, 'healthy');
  }

  /** Makes gateways report a preview of this commit; without `change`, it leaves them unchanged. */
  preview(commit: string, indexes: Iterable<number>, change?: Partial<ReportedPreview>): this {
    const preview = {
      commit,
      revision: 'r',
      digest: 'd'.repeat(64),
      changesNothing: !change,
      files: change ? 1 : 0,
      ...change,
    };
    const { stableCommit: stable, stableRevision: revision } = this.rollout;
    for (const index of indexes) {
      const { report = { rollout: undefined, commit: stable, revision, state: 'healthy' } } = this.gateways[
        index
      ] as RolloutGateway;
      this.change(index, { report, preview });
    }
    return this;
  }

  /** Makes it unready, possibly for a moment. */
  blink(index: number): this {
    return this.change(index, { notReadySince: this.now });
  }

  /** Makes it ready again, and keeps its report. */
  recover(index: number): this {
    return this.change(index, { notReadySince: undefined, readySince: this.now });
  }

  /** Makes one of its containers exit with an error. */
  crash(index: number): this {
    return this.blink(index).change(index, { crashedAt: this.now });
  }

  /** Makes one of its containers exit without an error, and start again. */
  restart(index: number): this {
    return this.recover(index).change(index, { restartedAt: this.now, runsSince: this.now });
  }

  /** Makes its agent report that it can't have the release. */
  fail(index: number): this {
    return this.report([index], 'failed');
  }

  /** Delivers the release to its disk; it stays unready. */
  hasIt(index: number): this {
    return this.report([index], 'busy');
  }

  #gateway(name: string, fits: readonly boolean[], index: number): RolloutGateway {
    const key = String(10 + index);
    return {
      name,
      key,
      fits,
      createdAt: start - DEADLINE,
      notReadySince: undefined,
      isPaused: false,
      report: undefined,
    };
  }
}

/** A window that is closed. */
export const shut = { window: { isOpen: false, message: 'no window is open' } };
export const canary: RolloutSpec = { waves: [{ name: 'canary' }] };
/** The waves that each gateway fits: one digit per wave. */
export const fitting = (...gateways: string[]): boolean[][] =>
  gateways.map((digits) => [...digits].map((digit) => digit === '1'));

/** Gateways of a canary wave and of the rest. */
export const two = [[true], [false]];
export const three = [[true], [true], [false]];
export const twenty = Array.from({ length: 20 }, () => [true]);
export const all = twenty.map((_, index) => index);
