import { type CommitAttributes, NO_ATTRIBUTES } from '../git/check-attributes.ts';
import { RepairCounts } from '../plan/drift.ts';
import type { Manifest } from '../plan/manifest.ts';
import type { Plan } from '../plan/plan-changes.ts';
import type { Intent } from '../resource/judge-resource.ts';

/**
 * Result of the last sync of this process. While it is valid, a sync doesn't plan and check everything: the manifest
 * lists the delivered files, and the next periodic check finds any drift.
 */
export class Baseline {
  /** Number of consecutive repairs of each file. */
  readonly repairs = new RepairCounts();
  /** Files of trees that couldn't be linked to, and are to be written again. */
  readonly unlinkable = new Set<string>();
  #recipe: string | undefined;
  #isBlank = true;
  /** Commit and generation that files are repaired for. */
  #cause = '';
  #checkedAt = Number.NEGATIVE_INFINITY;
  #attributes = NO_ATTRIBUTES;

  /** Starts a sync: a new commit or spec resets the number of repairs. */
  onBegin({ commit, generation }: Pick<Intent, 'commit' | 'generation'>): void {
    const cause = `${commit} ${generation}`;
    if (cause !== this.#cause) this.repairs.forget();
    this.#cause = cause;
  }

  /**
   * Records that the manifest is the result of this recipe: all input except the commit and values in templates. If it
   * is undefined, the next sync plans everything.
   */
  onSynced(recipe: string | undefined, { drift, isPartial }: Plan, attributes: CommitAttributes): void {
    this.#recipe = recipe;
    this.#isBlank = false;
    this.#attributes = attributes;
    this.unlinkable.clear();
    if (!isPartial) this.repairs.onCheck(drift);
  }

  /** Records that all files match the manifest. The next sync with git plans everything: attributes are unknown. */
  onConfirmed({ drift }: Plan): void {
    this.#isBlank = false;
    this.repairs.onCheck(drift);
    this.onCheck();
  }

  /** Records that every file was checked. */
  onCheck(): void {
    this.#checkedAt = performance.now();
  }

  /** Discards everything that depends on the volume. */
  forget(): void {
    this.#recipe = undefined;
    this.#isBlank = true;
    this.#checkedAt = Number.NEGATIVE_INFINITY;
  }

  /** Attributes of the manifest's commit, while the baseline is valid. */
  get attributes(): CommitAttributes {
    return this.#attributes;
  }

  /** Whether no sync of this process has succeeded since it took the volume. */
  get isBlank(): boolean {
    return this.#isBlank;
  }

  /** Checks whether the manifest is the result of the recipe for its commit. */
  holds(recipe: string, { applied }: Manifest): boolean {
    return applied !== undefined && recipe === this.#recipe;
  }

  /** Checks whether every file was checked within this many seconds. */
  isFresh(seconds: number): boolean {
    return performance.now() - this.#checkedAt < seconds * 1000;
  }
}
