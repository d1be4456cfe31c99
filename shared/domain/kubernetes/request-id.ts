import { hash } from 'node:crypto';
import type { RecordedRequest } from './recorded-request.ts';

type Content = Pick<RecordedRequest, 'ref' | 'at' | 'by' | 'repo'>;

const SUFFIX = /~[0-9a-f]{12}$/;

/**
 * Appends a hash of the request to its ID. A user who later edits one of its annotations leaves the ID, which then shows
 * that the others belong to an earlier request. It isn't a signature: a user who can annotate can also make a hash.
 */
export const withSuffix = (id: string, content: Content): string => `${id}~${hashOf(content)}`;

/** Checks whether an annotation of a request was edited. An ID of another client has no suffix, and never shows an edit. */
export function isEdited({ id = '', ...content }: RecordedRequest): boolean {
  const [suffix] = SUFFIX.exec(id) ?? [];
  return suffix !== undefined && suffix !== `~${hashOf(content)}`;
}

const hashOf = ({ ref, at, by, repo }: Content): string =>
  hash('sha256', JSON.stringify([ref, at, by, repo])).slice(0, 12);
