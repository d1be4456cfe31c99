import { AGENT_DIRECTORY } from '../../api/names.ts';

/** A path below a root: `''` is the root. `isDirectory` is true if it was written as a directory (`x/`, `.`). */
export type RelativePath = { kind: 'path'; path: string; isDirectory: boolean } | { kind: 'problem'; message: string };

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
const forbidden = /[\u0000-\u001f\u007f\\]/;

/** Normalizes `./x`, `x/`, `a//b`, and `.`, and rejects paths outside the root. */
export function relativePath(text: string): RelativePath {
  if (text.startsWith('/')) return problem(`${text}: must be a relative path`);
  if (forbidden.test(text))
    return problem(`${JSON.stringify(text)}: must not contain control characters or backslashes`);
  const parts = text.split('/');
  if (parts.includes('..')) return problem(`${text}: must not leave its root`);
  const last = parts.at(-1);
  const path = parts.filter((part) => part !== '' && part !== '.').join('/');
  return { kind: 'path', path, isDirectory: last === '' || last === '.' };
}

/** Removes trailing slashes. `/\/+$/` would need quadratic time if other characters follow the slashes. */
export function withoutTrailingSlashes(text: string): string {
  let end = text.length;
  while (text[end - 1] === '/') end -= 1;
  return text.slice(0, end);
}

/** Checks whether the path is the directory of the agent's own files, or below it. */
export function isAgentPath(path: string): boolean {
  return isWithin(path, AGENT_DIRECTORY);
}

/** Checks whether a part of the path has the name of that directory, in any case: some file systems ignore the case. */
export function hasAgentName(path: string): boolean {
  return path.toLowerCase().split('/').includes(AGENT_DIRECTORY);
}

const problem = (message: string): RelativePath => ({ kind: 'problem', message });

const emptyOrDots = /(?:^|\/)\.{0,2}(?:\/|$)/;

/**
 * Checks whether a path in a git tree is safe for a file: no empty, `.`, or `..` part, no NUL, and no `.git`, from which
 * git would run programs.
 */
export function isFilePath(path: string): boolean {
  return !path.includes('\0') && !emptyOrDots.test(path) && !isGitPath(path);
}

/** Maximum length of a file name on Linux (bytes). */
const MAX_NAME = 255;
/** Linux allows 4,095 bytes for a path; the rest is reserved for the volume's mount path. */
const MAX_PATH = 3072;
/** Far more than in real repositories; work in a directory needs a step per parent. */
const MAX_DIRECTORIES = 128;

/** A path of this length is below both limits, because a UTF-16 character has at most three bytes. */
const SHORT = MAX_NAME / 3;

/**
 * Checks whether a path or one of its parts has more bytes than programs can open, or the path has more than 128 nested
 * directories.
 */
export function isTooLong(path: string): boolean {
  if (path.length <= SHORT) return false;
  if (path.length > MAX_PATH || Buffer.byteLength(path) > MAX_PATH) return true;
  const names = path.split('/');
  return names.length > MAX_DIRECTORIES + 1 || names.some((name) => Buffer.byteLength(name) > MAX_NAME);
}

/** Code points that HFS+ ignores in names, from git's list (utf8.c). */
const ignorable = '[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]*';
const dotGit = ['\\.', 'g', 'i', 't', ''].join(ignorable);
const gitPart = new RegExp(`(?:^|[/\\\\])(?:${ignorable}${dotGit}|git~1)[ .]*(?:$|[/\\\\:])`, 'i');

/**
 * Checks, as git does, whether a part of the path is `.git` on any file system: in any case, with characters that HFS+
 * ignores, or in the forms of NTFS (`git~1`, trailing dots and spaces, streams after a colon, backslashes).
 */
export function isGitPath(path: string): boolean {
  return gitPart.test(path);
}

/** Checks whether `path` is `directory` or below it; `''` is the root. */
export function isWithin(path: string, directory: string): boolean {
  if (directory === '' || path === directory) return true;
  return path.startsWith(directory) && path[directory.length] === '/';
}

/** Joins two paths, either of which can be the root. */
export function joinPath(directory: string, path: string): string {
  if (directory === '' || path === '') return directory + path;
  return `${directory}/${path}`;
}

/** Returns the directory and the name of a relative path. */
export function splitPath(path: string): [directory: string, name: string] {
  const at = path.lastIndexOf('/');
  return at === -1 ? ['', path] : [path.slice(0, at), path.slice(at + 1)];
}
