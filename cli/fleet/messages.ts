/** Full hashes of commits (SHA-1 or SHA-256). */
const HASH = /\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b/g;

/** Abbreviates a commit. */
export const shortCommit = (commit: string): string => commit.slice(0, 8);

/** Abbreviates all full hashes in a text. */
export const shortHashes = (text: string): string => text.replaceAll(HASH, shortCommit);
