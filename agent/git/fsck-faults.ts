import { TerminalError } from '../../shared/errors.ts';

/**
 * Faults of objects in honest repositories that git clone(1) accepts and that do no harm here (git-fsck(1) lists all).
 * Only the log shows the authors, a mode with a leading zero is the same mode, and no git here applies `.gitattributes`
 * or handles submodules: the agent checks the URLs in `.gitmodules` itself. Trees with unsorted or duplicate entries,
 * or with a whole path as a name, are still rejected, because git commands read them in different ways. So are faults
 * that git can't ignore (nulInHeader, unterminatedHeader).
 */
export const HARMLESS_FAULTS = [
  'badDate',
  'badDateOverflow',
  'badEmail',
  'badFilemode',
  'badName',
  'badTimezone',
  'gitattributesBlob',
  'gitattributesLarge',
  'gitattributesLineLength',
  'gitmodulesBlob',
  'gitmodulesLarge',
  'gitmodulesName',
  'gitmodulesPath',
  'gitmodulesUpdate',
  'gitmodulesUrl',
  'missingAuthor',
  'missingCommitter',
  'missingEmail',
  'missingNameBeforeEmail',
  'missingSpaceBeforeDate',
  'missingSpaceBeforeEmail',
  'multipleAuthors',
  'nulInCommit',
  'zeroPaddedDate',
  'zeroPaddedFilemode',
];

const harmless = new RegExp(`^error: object [0-9a-f]+: (?:${HARMLESS_FAULTS.join('|')}): `, 'm');

/** Checks whether git rejected an object for a harmless fault, as it does in fetches with a filter. */
export const isHarmless = (error: unknown): boolean =>
  error instanceof TerminalError &&
  error.code === 'git.unsafeObject' &&
  error.cause instanceof Error &&
  harmless.test(error.cause.message);
