import { OwnFile } from '../../../../agent/gateway/own-file.ts';
import { DataRoot } from '../../../../agent/volume/state/data-root.ts';

/** A file of the agent in a data volume. */
export async function ownFileIn(data: string, name: string, checkOwner = () => {}): Promise<OwnFile> {
  const root = await DataRoot.open(data);
  return new OwnFile(name, { has: root.hasOwn.bind(root), open: () => root.openAgentDirectory('') }, checkOwner);
}
