import type { Answer, Question } from '../../shared/api/inspection.ts';
import { readAgainUnlessHeld } from '../sync/hold-volume.ts';
import { tidyLfs } from '../sync/provide-content.ts';
import { inspectDiff } from './inspect-diff.ts';
import { inspectDrift } from './inspect-drift.ts';
import type { InspectionScope } from './inspection-scope.ts';
import { readContent } from './read-content.ts';

/** Inspects the files without changing them or the state of syncs. Throws the errors of a sync. */
export async function inspect(question: Question, scope: InspectionScope): Promise<Answer> {
  readAgainUnlessHeld(scope.dependencies);
  if (question.kind === 'content') return await readContent(question, scope);
  return question.kind === 'diff' ? await inspectDiff(question, scope) : await inspectDrift(question, scope);
}

/** Removes content fetched from Git LFS: repeated inspections must not fill the clone volume. */
export async function tidyAfterInspection({ dependencies, resource, signal }: InspectionScope): Promise<void> {
  const { applied } = await dependencies.manifestFile.read();
  // Keeps the downloads of a sync that still fails.
  if (applied !== undefined && applied.commit === resource.commit) await tidyLfs(dependencies, signal);
}
