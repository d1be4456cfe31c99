import { createHash } from 'node:crypto';
import { structuredPatch } from 'diff';
import { formatFileMode } from '../../shared/domain/files/file-mode.ts';

/** A file before and after a change; undefined if it doesn't exist. */
export interface FileChange {
  path: string;
  before: FileVersion | undefined;
  after: FileVersion | undefined;
}

interface FileVersion {
  text: string;
  executable: boolean;
  /** All bits of the mode, if a mapping sets it. git itself distinguishes only 0644 and 0755. */
  mode?: number | undefined;
}

/** Context lines around a change. */
const CONTEXT = 3;
/** Maximum edits in a minimal diff, whose cost is quadratic. Beyond it, the whole file is shown as replaced. */
const MAX_EDITS = 500;
const NO_NEWLINE = '\\ No newline at end of file';

/**
 * Formats a change as git does (git-diff(1), "Generating patch text with -p"), for `git apply`; empty without a change.
 * `algorithm` is the hash of the repository's ids.
 */
export function unifiedDiff({ path, before, after }: FileChange, algorithm: 'sha1' | 'sha256' = 'sha1'): string {
  const oldMode = modeOf(before);
  const newMode = modeOf(after);
  const isSameText = before?.text === after?.text;
  if (isSameText && oldMode === newMode) return '';
  const oldName = quoted(`a/${path}`);
  const newName = quoted(`b/${path}`);
  const lines = [`diff --git ${oldName} ${newName}`];
  if (!before) lines.push(`new file mode ${newMode}`);
  else if (!after) lines.push(`deleted file mode ${oldMode}`);
  else if (oldMode !== newMode) lines.push(`old mode ${oldMode}`, `new mode ${newMode}`);
  if (!isSameText) {
    const ids = `index ${idOf(before, algorithm)}..${idOf(after, algorithm)}`;
    lines.push(before && after && oldMode === newMode ? `${ids} ${oldMode}` : ids);
    const hunks = hunksOf(before?.text ?? '', after?.text ?? '');
    if (hunks.length > 0) {
      lines.push(`--- ${before ? ended(oldName) : '/dev/null'}`, `+++ ${after ? ended(newName) : '/dev/null'}`);
      lines.push(...hunks);
    }
  }
  return `${lines.join('\n')}\n`;
}

function modeOf(version: FileVersion | undefined): string | undefined {
  if (!version) return undefined;
  return `10${formatFileMode(version.mode ?? (version.executable ? 0o755 : 0o644))}`;
}

function idOf(version: FileVersion | undefined, algorithm: 'sha1' | 'sha256'): string {
  if (!version) return '0'.repeat(algorithm === 'sha1' ? 40 : 64);
  const content = Buffer.from(version.text);
  return createHash(algorithm).update(`blob ${content.length}\0`).update(content).digest('hex');
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what git quotes
const QUOTED = /["\\\u0000-\u001f\u007f]/g;
const ESCAPES: Record<string, string> = { '"': '\\"', '\\': '\\\\', '\t': '\\t', '\n': '\\n', '\r': '\\r' };

/** Quotes a path as git does with `core.quotePath` off. */
function quoted(path: string): string {
  const escaped = path.replaceAll(
    QUOTED,
    (character) => ESCAPES[character] ?? `\\${character.charCodeAt(0).toString(8).padStart(3, '0')}`,
  );
  return escaped === path ? path : `"${escaped}"`;
}

/** Terminates a name that contains a space. */
const ended = (name: string): string => (name.includes(' ') && !name.startsWith('"') ? `${name}\t` : name);

function hunksOf(before: string, after: string): string[] {
  const patch = structuredPatch('', '', before, after, '', '', { context: CONTEXT, maxEditLength: MAX_EDITS });
  if (!patch) return replacedBy(before, after);
  return patch.hunks.flatMap(({ oldStart, oldLines, newStart, newLines, lines }) => [
    `@@ -${rangeOf(oldStart, oldLines)} +${rangeOf(newStart, newLines)} @@`,
    ...lines,
  ]);
}

/** An empty range refers to the previous line. */
const rangeOf = (start: number, count: number): string => {
  const from = count === 0 ? start - 1 : start;
  return count === 1 ? `${from}` : `${from},${count}`;
};

/** Replaces all lines. */
function replacedBy(before: string, after: string): string[] {
  const old = linesOf(before);
  const now = linesOf(after);
  return [
    `@@ -${rangeOf(1, old.length)} +${rangeOf(1, now.length)} @@`,
    ...marked('-', old, before),
    ...marked('+', now, after),
  ];
}

const linesOf = (text: string): string[] => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

const marked = (mark: string, lines: readonly string[], text: string): string[] => [
  ...lines.map((line) => `${mark}${line}`),
  ...(lines.length > 0 && !text.endsWith('\n') ? [NO_NEWLINE] : []),
];
