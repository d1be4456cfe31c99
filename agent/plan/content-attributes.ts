import { joinPath } from '../../shared/domain/files/relative-path.ts';
import { directoriesAfter } from './directories.ts';

/** Name of files in the format of gitattributes(5). */
const ATTRIBUTES_FILE = '.gitattributes';

export const isAttributesFile = (path: string): boolean =>
  path === ATTRIBUTES_FILE || path.endsWith(`/${ATTRIBUTES_FILE}`);

/**
 * Returns the paths of attributes files in the directories above these paths, which apply to them as well. One by one,
 * because a set would keep a copy of each.
 */
export function* attributesFilesAbove(paths: string[]): Generator<string> {
  yield ATTRIBUTES_FILE;
  let before = '';
  for (const path of paths.toSorted()) {
    for (const directory of directoriesAfter(before, path)) yield joinPath(directory, ATTRIBUTES_FILE);
    before = path;
  }
}

/** Attributes that make git change content at checkout, and the text that a file needs to set one. */
const EFFECTIVE: { marker: string; names: string[] }[] = [
  { marker: 'eol=crlf', names: ['text', 'crlf', 'eol'] },
  { marker: 'ident', names: ['ident'] },
  { marker: 'filter=', names: ['filter'] },
  { marker: 'working-tree-encoding=', names: ['working-tree-encoding'] },
];

/** Returns the names of attributes to query if attributes files contain these texts; none if they change no content. */
export function attributesIn(texts: string[]): string[] {
  return EFFECTIVE.flatMap(({ marker, names }) => (texts.some((text) => text.includes(marker)) ? names : []));
}

/** Effects of a file's attributes on its content. */
export interface ContentAttributes {
  /** Git LFS stores the content, and git the pointer to it. */
  isLfs: boolean;
  /** Attributes that make a checkout differ from git's content. */
  ignored: string[];
}

/** Maximum length of a value in messages. */
const SHOWN = 40;

/**
 * Judges attributes as git's convert.c does for a checkout on Linux without core.autocrlf. Values are those of
 * git-check-attr(1): `set`, `unset`, `unspecified`, or text.
 */
export function judgeAttributes(values: ReadonlyMap<string, string>): ContentAttributes {
  const ignored: string[] = [];
  const text = [values.get('text'), values.get('crlf')].find((value) => value && TEXT_VALUES.has(value));
  if (values.get('eol') === 'crlf' && text !== 'unset') ignored.push('eol=crlf');
  if (values.get('ident') === 'set') ignored.push('ident');
  const filter = textOf(values.get('filter'));
  if (filter !== undefined && filter !== 'lfs') ignored.push(`filter=${filter.slice(0, SHOWN)}`);
  const encoding = textOf(values.get('working-tree-encoding'));
  if (encoding !== undefined && !/^utf-?8$/i.test(encoding)) {
    ignored.push(`working-tree-encoding=${encoding.slice(0, SHOWN)}`);
  }
  return { isLfs: filter === 'lfs', ignored };
}

/** All other values are treated as unset. */
const TEXT_VALUES = new Set(['set', 'unset', 'auto', 'input']);

const textOf = (value: string | undefined): string | undefined =>
  value === undefined || value === '' || ['set', 'unset', 'unspecified'].includes(value) ? undefined : value;
