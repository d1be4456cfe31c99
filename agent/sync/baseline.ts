import { type CommitAttributes, NO_ATTRIBUTES } from '../git/check-attributes.ts';
import { RepairCounts } from '../plan/drift.ts';
import type { Manifest } from '../plan/manifest.ts';
import type { Plan } from '../plan/plan-changes.ts';
import type { Intent } from '../resource/judge-resource.ts';

/**
 * What the last sync of this process came to. While it holds, a sync does not have to lay out and look at everything: the
 * manifest says what is in place, and the next check in time finds any drift.
 */
export class Baseline {
  /** How often files were repaired in a row. */
  readonly repairs = new RepairCounts();
  #recipe: string | undefined;
  #isBlank = true;
  /** Commit and generation that files are repaired for. */
  #cause = '';
  #lookedAt = Number.NEGATIVE_INFINITY;
  #attributes = NO_ATTRIBUTES;

  /** A sync begins: for another commit or spec files are repaired again that were given up. */
  onBegin({ commit, generation }: Pick<Intent, 'commit' | 'generation'>): void {
    const cause = `${commit} ${generation}`;
    if (cause !== this.#cause) this.repairs.forget();
    this.#cause = cause;
  }

  /** The manifest says what this recipe (everything but the commit that decides on paths and patches) came to. */
  onSynced(recipe: string, { drift, isPartial }: Plan, attributes: CommitAttributes): void {
    this.#recipe = recipe;
    this.#isBlank = false;
    this.#attributes = attributes;
    if (!isPartial) this.repairs.onLook(drift);
  }

  /** Every file is right by the manifest alone. The next sync with git plans everything: attributes are not known yet. */
  onConfirmed({ drift }: Plan): void {
    this.#isBlank = false;
    this.repairs.onLook(drift);
    this.onLook();
  }

  /** Every file was looked at. */
  onLook(): void {
    this.#lookedAt = performance.now();
  }

  /** Nothing is known any more. */
  forget(): void {
    this.#recipe = undefined;
    this.#isBlank = true;
    this.#lookedAt = Number.NEGATIVE_INFINITY;
  }

  /** Attributes of the commit that the manifest names, while the baseline holds. */
  get attributes(): CommitAttributes {
    return this.#attributes;
  }

  /** Whether no sync of this process, with the volume as it holds it now, has ended well. */
  get isBlank(): boolean {
    return this.#isBlank;
  }

  /** Whether the manifest is the outcome of the recipe for the commit that it names. */
  holds(recipe: string, { applied }: Manifest): boolean {
    return applied !== undefined && recipe === this.#recipe;
  }

  /** Whether every file was looked at within so many seconds. */
  isFresh(seconds: number): boolean {
    return performance.now() - this.#lookedAt < seconds * 1000;
  }
}
