/** Names content that is kept in Git LFS; https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md. */
export interface LfsPointer {
  /** SHA-256 of the content, in hex. */
  oid: string;
  /** Bytes of the content. */
  size: number;
}

/** Pointers are shorter. */
export const MAX_POINTER_BYTES = 1024;
/** And those that name content are longer: version, sum and size take so much. */
export const MIN_POINTER_BYTES = 120;

const HEADER = Buffer.from('version https://git-lfs.github.com/spec/');

/** Whether content of that size only points at a file in Git LFS. */
export function isLfsPointer(head: Buffer, size: number): boolean {
  return size < MAX_POINTER_BYTES && head.length >= HEADER.length && head.subarray(0, HEADER.length).equals(HEADER);
}

/** Reads a pointer; undefined where it is damaged, or where its content has to go through an extension first. */
export function parseLfsPointer(content: Buffer): LfsPointer | undefined {
  const text = content.toString('latin1');
  const oid = /^oid sha256:([0-9a-f]{64})$/m.exec(text)?.[1];
  const size = /^size (\d{1,15})$/m.exec(text)?.[1];
  const isExtended = /^ext-/m.test(text);
  return oid && size && !isExtended ? { oid, size: Number(size) } : undefined;
}
