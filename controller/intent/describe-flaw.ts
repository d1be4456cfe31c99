import { parse } from 'semver';
import { BOUNDS } from '../../shared/api/bounds.ts';

/** The first numbers of a name with the text before and after them, such as `v`, `1.5`, and `-rc1`. */
const NUMBERS = /^(\D*)(\d+(?:\.\d+)*)(.*)$/s;
const COUNTS = ['no numbers', 'one number', 'two numbers', 'three numbers', 'four numbers'];
const EXAMPLE = 'such as 1.2.3 or v1.2.3';

/** Explains why a tag with a prefix isn't a version; https://semver.org/#semantic-versioning-specification-semver. */
export function describeFlaw(name: string, prefix: string): string {
  const rest = name.slice(prefix.length);
  const [, before = '', digits = '', after = ''] = NUMBERS.exec(rest) ?? [];
  const numbers = digits === '' ? [] : digits.split('.');
  const longer = prefixIn(rest);
  if (longer !== undefined) return prefixFlaw(longer, `${prefix}${longer}`);
  const zero = numbers.find((number) => /^0\d/.test(number));
  if (zero !== undefined) return `${zero} has a leading zero`;
  if (numbers.length !== 3)
    return `it has ${COUNTS[numbers.length] ?? 'too many numbers'} instead of three, ${EXAMPLE}`;
  if (numbers.some((number) => Number(number) > Number.MAX_SAFE_INTEGER)) return 'a number in it is too large';
  if (!/^v?$/.test(before)) return prefixFlaw(before.replace(/v$/, ''), `${prefix}${before.replace(/v$/, '')}`);
  return suffixFlaw(after);
}

/** The text before the first part of a name that is a version on its own. */
function prefixIn(name: string): string | undefined {
  for (let at = 1; at < name.length; at += 1) {
    const isStart = /[v\d]/.test(name[at] ?? '') && !/[\d.]/.test(name[at - 1] ?? '');
    if (isStart && parse(name.slice(at))) return name.slice(0, at);
  }
  return undefined;
}

/** Other characters that a prefix can't contain aren't allowed in tags either. */
function prefixFlaw(text: string, prefix: string): string {
  if (prefix.startsWith('-'))
    return "it begins with a hyphen, which spec.git.tagPrefix can't; push it with another name";
  if (prefix.length > BOUNDS.tagPrefix)
    return `more than ${BOUNDS.tagPrefix} characters are before its numbers; push it with another name`;
  return `it begins with ${text}; to follow such tags, set spec.git.tagPrefix to ${prefix}`;
}

function suffixFlaw(after: string): string {
  if (!/^[-+]/.test(after)) return `${after} follows the numbers without a hyphen, as in 1.2.3-rc1`;
  const [zero] = /(?<=[-.])0\d+(?=[.+]|$)/.exec(after.replace(/\+.*/s, '')) ?? [];
  if (zero !== undefined) return `${zero} has a leading zero`;
  return `${after} has characters other than letters, digits, hyphens, and dots between them`;
}
