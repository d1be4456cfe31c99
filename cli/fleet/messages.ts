import { ROLLOUT_ANNOTATIONS } from '../../shared/api/names.ts';
import { shellWord } from '../../shared/domain/shell-quote.ts';

/** Full hashes of commits (SHA-1 or SHA-256). */
const HASH = /\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b/g;

/** Abbreviates a commit. */
export const shortCommit = (commit: string): string => commit.slice(0, 8);

/** Abbreviates all full hashes in a text. */
export const shortHashes = (text: string): string => text.replaceAll(HASH, shortCommit);

/** An annotation in a message of the controller, such as `set sync.io/retry-rollout: 3f2a…` or `… (now 91fd…)`. */
const ORDER =
  /(set )?(?:the annotation )?\b(sync\.io\/(?:approve|rollback|retry-rollout))(?![\w-])(?:: ([\w./-]*\w))?(?: \(now \S+\))?/g;
/** The controller can't know that the command removes an outdated approval. */
const OUTDATED = /; it was set before (spec\.sync was edited|gateways reported other changes), so remove it first/;

/** Replaces annotations in a message of the controller by the commands that set them. */
export const withCommands = (message: string, name: string): string =>
  message
    .replace(ORDER, (_, isOrder: string | undefined, annotation: string, value: string | undefined) => {
      const command = commandFor(annotation, { name, value });
      return isOrder ? `run ${command}` : command;
    })
    .replace(OUTDATED, ' again, because $1 after the approval');

function commandFor(annotation: string, { name, value }: { name: string; value: string | undefined }): string {
  if (annotation === ROLLOUT_ANNOTATIONS.approve) return `kubectl stoker approve ${name}`;
  if (annotation === ROLLOUT_ANNOTATIONS.retry) return `kubectl stoker retry ${name}`;
  const to = value === undefined || value === 'previous' ? '' : ` --to ${shellWord(value)}`;
  return `kubectl stoker rollback ${name}${to}`;
}
