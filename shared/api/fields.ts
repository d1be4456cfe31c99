import * as v from 'valibot';
import { FILE_MODE_RULE } from '../domain/files/file-mode.ts';
import { BOUNDS } from './bounds.ts';
import { AGENT_DIRECTORY } from './names.ts';

/** A CEL rule that the API server checks, and the message of its error. */
export interface CelRule {
  rule: string;
  message: string;
}

/** Attaches CEL rules to a schema; see https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#validation-rules. */
export const cel = <TInput>(...rules: CelRule[]) =>
  v.metadata<TInput, { 'x-kubernetes-validations': CelRule[] }>({ 'x-kubernetes-validations': rules });

/** Limits the length of each key of a map, which OpenAPI can't. */
export const boundedKeys = <TInput>(maxLength: number) =>
  cel<TInput>({
    rule: `self.all(key, size(key) <= ${maxLength})`,
    message: `keys must have at most ${maxLength} characters; shorten the longer ones`,
  });

/** An object with a description for `kubectl explain`. */
export const object = <TEntries extends v.ObjectEntries>(description: string, entries: TEntries) =>
  v.pipe(v.object(entries), v.description(description));

/** A bounded list. */
export const list = <TItem extends v.GenericSchema>(item: TItem, maxLength: number, description: string) =>
  v.pipe(v.array(item), v.maxLength(maxLength), v.description(description));

/** A bounded map. */
export const map = <TValue extends v.GenericSchema>(value: TValue, maxEntries: number, description: string) =>
  v.pipe(v.record(v.string(), value), v.maxEntries(maxEntries), v.description(description));

/** One of several words. */
export const oneOf = <const TWords extends readonly string[]>(words: TWords, description: string) =>
  v.pipe(v.picklist(words), v.description(description));

/** True or false. */
export const flag = (description: string) => v.pipe(v.boolean(), v.description(description));

/** A number of objects or events. */
export const count = (description: string) => integer(0, BOUNDS.count, description);

/** A bounded string with a description for `kubectl explain`. */
export const text = (description: string, maxLength: number = BOUNDS.text) =>
  v.pipe(v.string(), v.maxLength(maxLength), v.description(description));

/** A bounded string that is not empty. */
export const name = (description: string, maxLength = 253) =>
  v.pipe(v.string(), v.minLength(1), v.maxLength(maxLength), v.description(description));

/** Names one key of a Secret in the resource's own namespace. */
export const secretKeyRef = (description: string) =>
  object(description, { name: secretName('Name of the Secret.'), key: secretName('Key inside the Secret.') });

/** A name that a Secret or a key in it can have. */
export const secretName = (description: string) => v.pipe(name(description), v.regex(/^[-._a-zA-Z0-9]+$/));

/** A name that git accepts for a ref, short or full (git-check-ref-format), or a commit hash. */
export const gitRef = (description: string) =>
  v.pipe(
    name(description, BOUNDS.ref),
    cel(
      {
        rule: "!self.startsWith('-') && !self.startsWith('/') && !self.endsWith('/') && !self.endsWith('.') && !self.contains('//')",
        message:
          "must be a git ref such as main, v1.2.3, or refs/heads/main, without a leading '-' or '/', a trailing '/' or '.', or '//'",
      },
      {
        rule: "!self.contains('..') && !self.contains('@{') && !self.matches('[\\\\x00-\\\\x20\\\\x7f~^:?*\\\\[\\\\\\\\]') && !self.matches('(^|/)\\\\.|\\\\.lock(/|$)')",
        message:
          "must be a git ref without spaces, control characters, '..', '@{', '~', '^', ':', '?', '*', '[', or '\\', and without a part that begins with '.' or ends with '.lock'",
      },
    ),
  );

/** A glob of ref names. Rejects syntax that other matchers support beyond globs, so that users don't rely on it. */
export const refGlob = (description: string) =>
  v.pipe(
    name(description, BOUNDS.ref),
    cel(
      {
        rule: "!self.startsWith('!')",
        message: 'must be a glob of allowed refs, without a leading !; exceptions are not supported',
      },
      {
        rule: "!self.matches('(^|[^\\\\\\\\])[(]|[\\\\]}][+]|[.][.]')",
        message: 'must be a glob of *, **, ?, [a-z], [!a-z], and {a,b}, without (…), + after ] or }, or a range {1..9}',
      },
    ),
  );

const GLOB_CHARACTERS = '\\\\p{L}\\\\p{M}\\\\p{N}._~%+*?-';

/** A choice such as {a,b}, in RE2. A slash in it would leave an unpaired brace when the host is removed. */
const GLOB_CHOICE = `[{][${GLOB_CHARACTERS}]*(,[${GLOB_CHARACTERS}]*)+[}]`;

/** A glob of repository paths, limited to syntax that the receiver's admission policy can turn into a regular expression. */
export const repositoryGlob = (description: string) =>
  v.pipe(
    name(description, BOUNDS.repository),
    cel(
      {
        rule: `self.matches('^(([A-Za-z0-9.*?-]|${GLOB_CHOICE})+:[0-9]+/)?([/${GLOB_CHARACTERS}]|${GLOB_CHOICE})+$')`,
        message:
          'must be a path such as org/repo or host/org/repo, of letters, digits, and . _ ~ % + - with *, ?, **, and {a,b}, without a scheme, a user, or a slash in braces',
      },
      {
        rule: "!self.matches('[^\\\\P{Lu}A-Z]')",
        message: 'must not contain upper-case letters outside ASCII; write them in lower case, as names are compared',
      },
      {
        rule: "!self.matches('[^/][*][*]|[*][*][^/]')",
        message: 'must use ** only as a whole path segment, such as org/**, **/repo, or org/**/repo',
      },
    ),
  );

const relativePathRules: CelRule[] = [
  { rule: "!self.startsWith('/')", message: 'must be a relative path; remove the leading /' },
  { rule: "!self.matches('(^|/)\\\\.\\\\.(/|$)')", message: 'must not leave its root; remove .. from the path' },
  {
    rule: "!self.matches('[\\\\x00-\\\\x1f\\\\x7f\\\\\\\\]')",
    message: 'must not contain control characters or backslashes',
  },
];

/** A path below the repository's root. */
export const sourcePath = (description: string) => v.pipe(name(description, BOUNDS.text), cel(...relativePathRules));

/** A path below the data volume's root, outside the agent's directory. */
export const destinationPath = (description: string) =>
  v.pipe(
    name(description, BOUNDS.text),
    cel(...relativePathRules, {
      rule: `!self.matches('^(\\\\./)*${AGENT_DIRECTORY.replace('.', '\\\\.')}(/|$)')`,
      message: `must be outside ${AGENT_DIRECTORY}, the directory that the agent keeps its own files in`,
    }),
  );

/**
 * An absolute path of a directory or file, such as /usr/share/nginx, without a final slash and the names . and .. (a
 * pattern, because CEL rules of lists in mappings cost too much).
 */
export const absolutePath = (description: string) =>
  v.pipe(text(description), v.regex(/^(\/([^/.][^/]*|[.][^/.][^/]*|[.][.][^/]+))+$/));

/** Permission bits of a file, as an octal number in quotes. */
export const fileMode = (description: string) =>
  v.pipe(v.string(FILE_MODE_RULE.message), v.maxLength(4), cel(FILE_MODE_RULE), v.description(description));

/** A Go duration string between `min` and `max`, which use the same format; every caller's range includes 90s. */
export const durationBetween = (min: string, max: string, description: string) =>
  v.pipe(
    text(description, 32),
    cel({
      rule: `self.matches('^([0-9]+(\\\\.[0-9]+)?(ms|s|m|h))+$') && duration(self) >= duration('${min}') && duration(self) <= duration('${max}')`,
      message: `must be a duration between ${min} and ${max}, such as 90s or 1m30s`,
    }),
  );

/** A Go duration string between 5s and 24h. */
export const duration = (description: string) => durationBetween('5s', '24h', description);

/** An integer between `min` and `max`. */
export const integer = (min: number, max: number, description: string) =>
  v.pipe(v.number(), v.integer(), v.minValue(min), v.maxValue(max), v.description(description));

/** A point in time, RFC 3339. Its fraction of a second can have any number of digits, so the length is limited. */
export const timestamp = (description: string) => v.pipe(text(description, 64), v.metadata({ format: 'date-time' }));
