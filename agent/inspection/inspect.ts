import type { Answer, Question } from '../../shared/api/inspection.ts';
import { tidyLfs } from '../sync/provide-content.ts';
import { readAgain } from '../sync/sync.ts';
import { inspectDiff } from './inspect-diff.ts';
import { inspectDrift } from './inspect-drift.ts';
import type { InspectionScope } from './inspection-scope.ts';

/** Looks at the files for somebody who asks. Changes neither them nor what a sync remembers. Throws what a sync throws. */
export async function inspect(question: Question, scope: InspectionScope): Promise<Answer> {
  if (!scope.dependencies.lock.isHeld) readAgain(scope.dependencies);
  return question.kind === 'diff' ? await inspectDiff(question, scope) : await inspectDrift(scope);
}

/** Removes what was fetched of Git LFS: looks again and again must not fill the clone volume. */
export async function tidyAfterInspection({ dependencies, resource }: Omit<InspectionScope, 'signal'>): Promise<void> {
  const { applied } = await dependencies.manifestFile.read();
  // What a sync that still fails has downloaded stays.
  if (applied !== undefined && applied.commit === resource.commit) await tidyLfs(dependencies);
}
