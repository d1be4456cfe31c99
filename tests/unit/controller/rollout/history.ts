import assert from 'node:assert/strict';
import type { RolloutStatus } from '../../../../shared/api/rollout.ts';
import { sync, withAgent } from './agents.ts';
import { approve, shownIn } from './approvals.ts';
import { type Agent, type Commit, control, hasPreviews, makeWorld, type Setup, type World } from './model.ts';

/** A world of the model, and the events in it one after another. */
export class History {
  world: World;
  readonly #setup: Setup;

  constructor(setup: Setup, world = makeWorld(setup)) {
    this.#setup = setup;
    this.world = world;
  }

  get rollout() {
    return this.world.state as RolloutStatus;
  }

  get message(): string {
    return this.rollout.message ?? '';
  }

  get admitted(): string[] {
    return this.rollout.admission.map(({ admitted }) => admitted);
  }

  /** Begins the rollout of a commit. */
  begin(commit: Commit = 'A'): this {
    return this.control().control({ wanted: commit });
  }

  /** Changes the world, and reconciles. */
  control(change: Partial<World> = {}): this {
    this.world = control({ ...this.world, ...change }, this.#setup);
    return this;
  }

  /** Approves what the status shows for all waves, and reconciles. */
  approve(): this {
    const shown = shownIn(this.rollout, hasPreviews(this.world, this.#setup));
    assert.ok(shown, 'there is nothing to approve');
    return this.control({ releases: approve(this.world.releases, shown) });
  }

  later(ms: number): this {
    this.world = { ...this.world, now: this.world.now + ms };
    return this;
  }

  agent(change: Partial<Agent>, ...indexes: number[]): this {
    for (const index of indexes) this.world = withAgent(this.world, index, change);
    return this;
  }

  /** Lets agents read the status, deliver the release, and report it, without a reconcile. */
  sync(...indexes: number[]): this {
    for (const index of indexes) this.world = sync(this.world, index, this.#setup);
    return this;
  }

  /** Reconciles after each of these agents. */
  syncInTurn(...indexes: number[]): this {
    for (const index of indexes) this.sync(index).control();
    return this;
  }

  /** Another history from here on. */
  fork(): History {
    return new History(this.#setup, this.world);
  }
}
