import { allDirectories, joinPath } from '../../shared/domain/relative-path.ts';

/** Name of files that hold gitattributes(5). */
const ATTRIBUTES_FILE = '.gitattributes';

export const isAttributesFile = (path: string): boolean =>
  path === ATTRIBUTES_FILE || path.endsWith(`/${ATTRIBUTES_FILE}`);

/** Paths of attributes files in the directories above these paths: they apply to what is below as well. */
export function attributesFilesAbove(paths: string[]): string[] {
  return ['', ...allDirectories(paths)].map((folder) => joinPath(folder, ATTRIBUTES_FILE));
}

/** Attributes by which git changes content at checkout, and what a file has to hold to set one so that it does. */
const EFFECTIVE: { marker: string; names: string[] }[] = [
  { marker: 'eol=crlf', names: ['text', 'crlf', 'eol'] },
  { marker: 'ident', names: ['ident'] },
  { marker: 'filter=', names: ['filter'] },
  { marker: 'working-tree-encoding=', names: ['working-tree-encoding'] },
];

/** Returns the names of the attributes to query if attributes files hold these texts; none if no content would change. */
export function attributesIn(texts: string[]): string[] {
  return EFFECTIVE.flatMap(({ marker, names }) => (texts.some((text) => text.includes(marker)) ? names : []));
}

/** What the attributes of a file mean for its content. */
export interface ContentAttributes {
  /** Git LFS keeps the content, and git the pointer to it. */
  isLfs: boolean;
  /** Attributes by which a checkout differs from what git keeps. */
  ignored: string[];
}

/** Maximum length of a value that is shown. */
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

/** Any other value counts as none. */
const TEXT_VALUES = new Set(['set', 'unset', 'auto', 'input']);

const textOf = (value: string | undefined): string | undefined =>
  value === undefined || value === '' || ['set', 'unset', 'unspecified'].includes(value) ? undefined : value;
