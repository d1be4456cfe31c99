import type { Intent } from '../resource/judge-resource.ts';

/** Headers with the commit and the ref of the files. Characters of a ref that aren't ASCII are percent-encoded. */
export const syncHeaders = ({ commit, ref }: Pick<Intent, 'commit' | 'ref'>): Record<string, string> => ({
  'X-Sync-Commit': commit,
  'X-Sync-Ref': ref.toWellFormed().replace(/[^ -~]+/g, encodeURIComponent),
});
