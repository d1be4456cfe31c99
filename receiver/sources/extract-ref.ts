import type { RequestSource } from '../../shared/api/names.ts';
import { isValidRefName } from '../../shared/domain/check-ref-name.ts';
import type { Delivery } from './delivery.ts';

const BRANCH_PREFIX = 'refs/heads/';

/**
 * What the value of a payload's ref field asks for: the full name of a branch is a push to it, any other ref (a tag, a
 * short name, a commit) a request to move. Undefined where there is no value.
 */
export function extractRef(value: unknown, source: RequestSource): Delivery | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string') return { kind: 'invalid', error: 'the ref is not a string', source };
  if (!isValidRefName(value)) return { kind: 'invalid', error: 'the ref is not a valid git ref name', source };
  return { kind: value.startsWith(BRANCH_PREFIX) ? 'push' : 'request', ref: value, source };
}
