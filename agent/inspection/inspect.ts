import type { Answer, Question } from '../../shared/api/inspection.ts';
import { tidyLfs } from '../sync/provide-content.ts';
import { readAgain } from '../sync/sync.ts';
import { inspectDiff } from './inspect-diff.ts';
import { inspectDrift } from './inspect-drift.ts';
import type { Look } from './look.ts';

/** Looks at the files for somebody who asks. Changes neither them nor what a sync remembers. Throws what a sync throws. */
export async function inspect(question: Question, look: Look): Promise<Answer> {
  if (!look.dependencies.lock.isHeld) readAgain(look.dependencies);
  return question.kind === 'diff' ? await inspectDiff(question, look) : await inspectDrift(look);
}

/** Removes what was fetched of Git LFS: looks again and again must not fill the clone volume. */
export async function tidyAfterLook({ dependencies, resource }: Omit<Look, 'signal'>): Promise<void> {
  const { applied } = await dependencies.manifestFile.read();
  // What a sync that still fails has downloaded stays.
  if (applied !== undefined && applied.commit === resource.commit) await tidyLfs(dependencies);
}
