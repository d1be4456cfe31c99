import type { BaseIssue } from 'valibot';

/** Names of JavaScript's types in JSON and YAML. */
const TYPES: Record<string, string> = {
  Array: 'a list',
  Object: 'a map',
  boolean: 'true or false',
  number: 'a number',
  object: 'a map',
  string: 'text',
};

/** Describes a wrong value, for schemas that have no message: `v.safeParse(schema, value, OWN_WORDS)`. */
export const OWN_WORDS = { message: issueWords };

function issueWords({ expected, received, type, requirement }: BaseIssue<unknown>): string {
  if (received === 'undefined') return 'must be set';
  const limit = typeof requirement === 'number' ? LIMITS[type]?.(requirement) : undefined;
  if (limit) return limit;
  if (!expected || /^[<>=!]/.test(expected)) return 'is not a valid value';
  const options = expected
    .replaceAll(/^\(|\)$/g, '')
    .split(' | ')
    .filter((option) => !['null', 'undefined'].includes(option));
  return `must be ${options.map((option) => TYPES[option] ?? option).join(' or ')}`;
}

/** Descriptions of limits by the issue's type. */
const LIMITS: Partial<Record<string, (limit: number) => string>> = {
  max_length: (limit) => `must have at most ${limit} characters or items`,
  min_length: (limit) => `must have at least ${limit} characters or items`,
  max_value: (limit) => `must be at most ${limit}`,
  min_value: (limit) => `must be at least ${limit}`,
};
