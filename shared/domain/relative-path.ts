import { AGENT_DIRECTORY } from '../api/names.ts';

/** A path below a root: `''` is the root itself. `folder` says that it was written as one (`x/`, `.`). */
export type RelativePath = { kind: 'path'; path: string; folder: boolean } | { kind: 'problem'; message: string };

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what this looks for
const forbidden = /[\u0000-\u001f\u007f\\]/;

/** Brings `./x`, `x/`, `a//b` and `.` into one form, and refuses what leads out of the root. */
export function relativePath(text: string): RelativePath {
  if (text.startsWith('/')) return problem(`${text}: must be a relative path`);
  if (forbidden.test(text)) return problem(`${JSON.stringify(text)}: must not hold control characters or backslashes`);
  const parts = text.split('/');
  if (parts.includes('..')) return problem(`${text}: must not leave its root`);
  const last = parts.at(-1);
  const path = parts.filter((part) => part !== '' && part !== '.').join('/');
  return { kind: 'path', path, folder: last === '' || last === '.' };
}

/** The text without slashes at its end. `/\/+$/` would take the square of their number where something follows them. */
export function withoutTrailingSlashes(text: string): string {
  let end = text.length;
  while (text[end - 1] === '/') end -= 1;
  return text.slice(0, end);
}

/** Whether the path is the folder in which the agent keeps its own files, or lies in it. */
export function isAgentPath(path: string): boolean {
  return isWithin(path, AGENT_DIRECTORY);
}

const problem = (message: string): RelativePath => ({ kind: 'problem', message });

const emptyOrDots = /(?:^|\/)\.{0,2}(?:\/|$)/;

/**
 * Whether a normal path is one that a file can have: no empty, `.` or `..` part, no NUL, and no `.git`, in which git
 * would run what it finds. Git trees may hold others.
 */
export function isFilePath(path: string): boolean {
  return !path.includes('\0') && !emptyOrDots.test(path) && !isGitPath(path);
}

/** What Linux takes for a name, in bytes. */
const MAX_NAME = 255;
/** Linux takes 4,095 bytes for a path: the rest is for the folder that the volume is mounted at. */
const MAX_PATH = 3072;
/** Far more than anybody has; to work in a folder takes a step for each of those that it lies in. */
const MAX_FOLDERS = 128;

/** Such a path is no longer than a name may be, and in fewer folders: a character of UTF-16 takes three bytes at most. */
const SHORT = MAX_NAME / 3;

/**
 * Whether no program could open a file at the path, or not by its name: with more bytes than a path, or a part of it, may
 * have. Also where it lies in more folders than 128, one in the other.
 */
export function isTooLong(path: string): boolean {
  if (path.length <= SHORT) return false;
  if (path.length > MAX_PATH || Buffer.byteLength(path) > MAX_PATH) return true;
  const names = path.split('/');
  return names.length > MAX_FOLDERS + 1 || names.some((name) => Buffer.byteLength(name) > MAX_NAME);
}

/** Code points that HFS+ passes over in names, by git's list (utf8.c). */
const ignorable = '[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]*';
const dotGit = ['\\.', 'g', 'i', 't', ''].join(ignorable);
const gitPart = new RegExp(`(?:^|[/\\\\])(?:${ignorable}${dotGit}|git~1)[ .]*(?:$|[/\\\\:])`, 'i');

/**
 * Whether a part of the path is `.git` on any file system, as git's own check has it: in any case, with what HFS+
 * passes over, or as NTFS takes it (`git~1`, dots and spaces at the end, streams after a colon, backslashes).
 */
export function isGitPath(path: string): boolean {
  return gitPart.test(path);
}

/** Whether `path` is `folder` or lies below it; `''` is the root. */
export function isWithin(path: string, folder: string): boolean {
  if (folder === '' || path === folder) return true;
  return path.startsWith(folder) && path[folder.length] === '/';
}

/** The folders that a path lies in, the outermost first, without the root. */
export function directoriesOf(path: string): string[] {
  const folders: string[] = [];
  for (let at = path.indexOf('/'); at !== -1; at = path.indexOf('/', at + 1)) folders.push(path.slice(0, at));
  return folders;
}

/** All folders that any of the paths lies in, each before those inside it; cheap where many paths share a folder. */
export function allDirectories(paths: Iterable<string>): Set<string> {
  const parents = new Set<string>();
  const folders = new Set<string>();
  for (const path of paths) {
    const parent = path.slice(0, Math.max(0, path.lastIndexOf('/')));
    if (parents.has(parent)) continue;
    parents.add(parent);
    for (const folder of directoriesOf(path)) folders.add(folder);
  }
  return new Set([...folders].sort());
}

/** One path after another; the root adds nothing. */
export function joinPath(folder: string, path: string): string {
  if (folder === '' || path === '') return folder + path;
  return `${folder}/${path}`;
}
