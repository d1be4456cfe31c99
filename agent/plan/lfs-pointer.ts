/** Names content in Git LFS; https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md. */
export interface LfsPointer {
  /** SHA-256 of the content, in hex. */
  oid: string;
  /** Size of the content in bytes. */
  size: number;
}

/** Pointers are shorter. */
export const MAX_POINTER_BYTES = 1024;
/** Valid pointers are longer, because of their version, oid, and size. */
export const MIN_POINTER_BYTES = 120;

const HEADER = Buffer.from('version https://git-lfs.github.com/spec/');

/** Checks whether content of that size is a Git LFS pointer. */
export function isLfsPointer(head: Buffer, size: number): boolean {
  return size < MAX_POINTER_BYTES && head.length >= HEADER.length && head.subarray(0, HEADER.length).equals(HEADER);
}

/** Reads a pointer; undefined if it is damaged, or if its content must pass through an extension. */
export function parseLfsPointer(content: Buffer): LfsPointer | undefined {
  const text = content.toString('latin1');
  const oid = /^oid sha256:([0-9a-f]{64})$/m.exec(text)?.[1];
  const size = /^size (\d{1,15})$/m.exec(text)?.[1];
  const isExtended = /^ext-/m.test(text);
  return oid && size && !isExtended ? { oid, size: Number(size) } : undefined;
}
