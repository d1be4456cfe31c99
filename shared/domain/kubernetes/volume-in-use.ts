/** An agent that holds the lock of a data volume. */
interface VolumeOwner {
  /** Namespace and name. */
  pod: string;
  node?: string | undefined;
}

/** The message of an agent that waits for a data volume; undefined for an owner that isn't known. */
export function volumeInUse(owner: VolumeOwner | undefined): string {
  const node = owner?.node === undefined ? '' : ` on node ${owner.node}`;
  const who = owner ? `the agent of pod ${owner.pod}${node}` : 'another agent';
  return `the data volume is in use by ${who}: each gateway needs its own volume or subPath`;
}

/** The owner in such a message. */
export function volumeOwnerIn(message: string): VolumeOwner | undefined {
  const found = /^the data volume is in use by the agent of pod ([^ :]+)(?: on node ([^ :]+))?: /.exec(message);
  return found?.[1] === undefined ? undefined : { pod: found[1], node: found[2] };
}
