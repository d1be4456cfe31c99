import { AGENT_FOLDER } from '../api/names.ts';

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

/** Whether the path is the folder in which the agent keeps its own files, or lies in it. */
export function isAgentPath(path: string): boolean {
  return path === AGENT_FOLDER || path.startsWith(`${AGENT_FOLDER}/`);
}

const problem = (message: string): RelativePath => ({ kind: 'problem', message });
